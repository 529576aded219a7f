// Copies the files of Swagger UI anew: npm run swagger-ui. Another version is asked for by
// `npm install --prefix tools/swagger-ui --package-lock-only swagger-ui-dist@VERSION` before it.

import { copySwaggerUi } from './swagger-ui.ts';

copySwaggerUi();
