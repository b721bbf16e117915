/** Lists every encrypted column and what its values are bound to. */

export type KeyValues = readonly (string | number)[];

export interface SealedTable {
  readonly table: string;
  readonly formerly?: string;
  readonly key: readonly string[];
  /** Column → the vault's `owner` for the row with this key. */
  readonly owners: Readonly<Record<string, (key: KeyValues) => string>>;
  readonly batchRows: number;
}

const rowsAtOnce = 100;

function plain(table: string, columns: readonly string[], key = "id"): SealedTable {
  const owners = columns.map((column) => [column, ([id]: KeyValues) => `${table}/${id}/${column}`] as const);
  return { table, key: [key], owners: Object.fromEntries(owners), batchRows: rowsAtOnce };
}

const webhookSecret = ([id]: KeyValues) => `oauth_clients/${id}/webhook_secret`;
const oauthClients = plain("oauth_clients", ["secret"]);

/** Must list every column of bytes in the migrations. */
export const sealedTables: readonly SealedTable[] = [
  plain("ssh_keys", ["value"]),
  // The former secret is the unchanged value of the current one, so both have the same owner.
  {
    ...oauthClients,
    owners: { ...oauthClients.owners, webhook_secret: webhookSecret, former_webhook_secret: webhookSecret },
  },
  plain("oauth_tokens", ["secret", "ssh_key"]),
  plain("sso_providers", ["client_secret"]),
  plain("sso_sessions", ["sign_out_url"], "token_id"),
  plain("notification_configurations", ["url", "token"]),
  plain("audit_webhooks", ["url", "token"]),
  plain("identity_keys", ["private_key"]),
  plain("notices", ["secret"]),
  plain("vars", ["value"]),
  plain("runs", ["variables", "pinned_variables"]),
  plain("state_version_outputs", ["value"]),
  {
    table: "run_log_chunks",
    key: ["phase_id", "start"],
    owners: { bytes: ([phase, start]) => `run_log_chunks/${phase}/${start}` },
    batchRows: 16,
  },
  {
    table: "content_chunks",
    formerly: "state_chunks",
    key: ["content_id", "position"],
    // The table's first name.
    owners: { bytes: ([content, position]) => `state_chunks/${content}/${position}` },
    batchRows: 16,
  },
];
