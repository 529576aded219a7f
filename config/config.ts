// What the settings are once they have been read: one field for each row of schema.ts.

/** The settings, parsed; frozen at start and handed to the rooms that need them. */
export interface Config {
  externalUrl: string;
  httpHost: string;
  httpPort: number;
  httpTlsCert: string | null;
  httpTlsKey: string | null;
  httpThroughTunnel: 'auto' | 'on' | 'off';
  /** Networks, with commas between. */
  trustedProxies: string | null;
  dataDir: string;
  databaseUrl: string | null;
  databaseHost: string | null;
  databasePort: number;
  databaseName: string;
  databaseUser: string;
  databasePassword: string | null;
  databasePoolSize: number;
  databaseTls: 'off' | 'required' | 'verify';
  databaseTlsCa: string | null;
  databaseTlsCert: string | null;
  databaseTlsKey: string | null;
  databaseAwayLimit: number | null;
  migrateBesideOlder: boolean;
  databaseEncryptionKey: string | null;
  databaseEncryptionKeyOld: string | null;
  defaultAdminEmail: string | null;
  defaultAdminPassword: string | null;
  bootstrapApiToken: string | null;
  wireguardPort: number;
  wireguardInterface: string;
  wireguardUapi: 'auto' | 'off';
  wireguardIpv4Enabled: boolean;
  wireguardIpv4Network: string;
  wireguardIpv4Address: string;
  wireguardIpv4Masquerade: boolean;
  wireguardIpv6Enabled: boolean;
  wireguardIpv6Network: string;
  wireguardIpv6Address: string;
  wireguardIpv6Masquerade: boolean;
  wireguardMtu: number;
  wireguardPrivateKey: string | null;
  wireguardTun: 'auto' | 'required' | 'off' | 'sockets';
  gatewayEgressInterface: string | null;
  gatewayForwarding: 'auto' | 'off';
  dataplaneEngine: 'auto' | 'native' | 'typescript';
  dataplaneWorkers: 'auto' | number;
  allowCloudMetadata: boolean;
  maxDevicesPerUser: number;
  apiRateLimit: number;
  samlEntityId: string;
  samlKeyfilePath: string | null;
  samlCertfilePath: string | null;
  vpnSessionRequireSignIn: boolean;
  auditRetentionDays: number;
  /** Days. */
  historyRetention: 'off' | number;
  /** `off`, `log`, or `ipfix://HOST:PORT`. */
  flowLog: string;
  smtpUrl: string | null;
  mailFrom: string | null;
  metricsAccess: 'loopback' | 'token' | 'off';
  metricsToken: string | null;
  metricsPerDevice: boolean;
  logFormat: 'text' | 'json' | null;
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  /** Whether workers compile the packet path before they are ready; no setting (launch.ts). */
  warmsUp: boolean;
  /** Texts of the variables that fix a field of the API's configuration, by their names. */
  configurationTexts: Readonly<Record<string, string>>;
}
