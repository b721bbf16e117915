/** Named facts about the database itself (`meta.ts`), and the applied migrations. */

export interface MetaTable {
  name: string;
  value: string;
}

export interface MigrationTable {
  name: string;
  appliedAt: string;
}
