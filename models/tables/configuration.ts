// The configurations table: one row that holds the settings administrators change while the gateway
// runs. A unique column makes sure that there is only one. docs/api.md#the-configuration.

import {
  type ConfigurationColumns,
  configurationFields,
  type NewConfigurationColumns,
} from '../fields/configuration.ts';
import { type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';

/** The one configuration; its columns are properties of it. */
export class Configuration extends modelOf<ConfigurationColumns, NewConfigurationColumns>() {}

/** Binds the table to one database. */
export function initConfiguration(context: TableContext): typeof Configuration {
  const { sequelize } = context;
  const columns = columnsFrom(configurationFields, 'configurations', context);
  return class extends Configuration {}.init(columns, {
    sequelize,
    modelName: 'configuration',
    tableName: 'configurations',
    ...timestamps,
  });
}
