/** Facts about the database itself. */

export interface MetaTable {
  name: string;
  value: string;
}

export interface MigrationTable {
  name: string;
  appliedAt: string;
}
