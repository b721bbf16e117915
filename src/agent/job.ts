/** Parses the job that the server sends. */
import { z } from "zod";
import { type Product, products } from "./products.ts";

const variable = z.object({
  key: z.string(),
  value: z.string().nullish(),
  category: z.enum(["terraform", "env"]),
  hcl: z.boolean().default(false),
  sensitive: z.boolean().default(false),
});

const attributes = z.object({
  attempt: z.number(),
  phase: z.enum(["plan", "apply"]),
  "run-id": z.string(),
  "workspace-id": z.string(),
  "workspace-name": z.string().regex(/^[\w-]+$/),
  "organization-name": z.string(),
  "project-id": z.string().nullish(),
  "project-name": z.string().nullish(),
  engine: z.enum(products).nullish(),
  "engine-version": z.string(),
  "working-directory": z.string().nullish(),
  structured: z.boolean().default(false),
  "is-destroy": z.boolean().default(false),
  refresh: z.boolean().default(true),
  "refresh-only": z.boolean().default(false),
  "allow-config-generation": z.boolean().default(false),
  "debugging-mode": z.boolean().default(false),
  "target-addrs": z.array(z.string()).nullish(),
  "replace-addrs": z.array(z.string()).nullish(),
  variables: z.array(variable).default([]),
  token: z.string(),
  server: z.string(),
  "configuration-url": z.string(),
  "state-url": z.string().nullish(),
  "input-state-version-id": z.string().nullish(),
  "timeout-seconds": z.number(),
  "ssh-key": z.string().nullish(),
  commit: z.object({ branch: z.string().nullish(), sha: z.string().nullish(), tag: z.string().nullish() }).nullish(),
  "identity-tokens": z.array(z.object({ name: z.string(), value: z.string() })).default([]),
  "log-bytes-max": z.number().default(100 * 1024 ** 2),
});

export interface JobVariable {
  readonly key: string;
  readonly value: string;
  readonly category: "terraform" | "env";
  readonly hcl: boolean;
  readonly sensitive: boolean;
}

export interface JobDocument {
  readonly id: string;
  readonly attempt: number;
  readonly phase: "plan" | "apply";
  readonly runId: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
  readonly projectId: string | null;
  readonly projectName: string | null;
  readonly engine: Product | null;
  readonly engineVersion: string;
  readonly workingDirectory: string;
  readonly structured: boolean;
  readonly isDestroy: boolean;
  readonly refresh: boolean;
  readonly refreshOnly: boolean;
  readonly allowConfigGeneration: boolean;
  readonly debuggingMode: boolean;
  readonly targetAddrs: readonly string[];
  readonly replaceAddrs: readonly string[];
  readonly variables: readonly JobVariable[];
  readonly token: string;
  readonly server: string;
  readonly configurationUrl: string;
  readonly stateUrl: string | null;
  readonly timeoutSeconds: number;
  readonly sshKey: string | null;
  readonly commit: { readonly branch: string | null; readonly sha: string | null; readonly tag: string | null };
  readonly identityTokens: readonly { readonly name: string; readonly value: string }[];
  readonly logBytesMax: number;
}

const document = z.object({ data: z.object({ id: z.string(), attributes }) });

export function parseJob(body: unknown): JobDocument {
  const parsed = document.safeParse(body);
  if (!parsed.success)
    throw new Error(
      `The server sent a job that this agent can't read (${z.prettifyError(parsed.error).replaceAll("\n", "; ")}). Use an agent of the server's version.`,
    );
  const { id, attributes: sent } = parsed.data.data;
  return {
    id,
    attempt: sent.attempt,
    phase: sent.phase,
    runId: sent["run-id"],
    workspaceId: sent["workspace-id"],
    workspaceName: sent["workspace-name"],
    organizationName: sent["organization-name"],
    projectId: sent["project-id"] ?? null,
    projectName: sent["project-name"] ?? null,
    engine: sent.engine ?? null,
    engineVersion: sent["engine-version"],
    workingDirectory: sent["working-directory"] ?? "",
    structured: sent.structured,
    isDestroy: sent["is-destroy"],
    refresh: sent.refresh,
    refreshOnly: sent["refresh-only"],
    allowConfigGeneration: sent["allow-config-generation"],
    debuggingMode: sent["debugging-mode"],
    targetAddrs: sent["target-addrs"] ?? [],
    replaceAddrs: sent["replace-addrs"] ?? [],
    variables: sent.variables.map((each) => ({ ...each, value: each.value ?? "" })),
    token: sent.token,
    server: sent.server.replace(/\/+$/, ""),
    configurationUrl: sent["configuration-url"],
    stateUrl: sent["state-url"] ?? null,
    timeoutSeconds: sent["timeout-seconds"],
    sshKey: sent["ssh-key"] ?? null,
    commit: {
      branch: sent.commit?.branch ?? null,
      sha: sent.commit?.sha ?? null,
      tag: sent.commit?.tag ?? null,
    },
    identityTokens: sent["identity-tokens"],
    logBytesMax: sent["log-bytes-max"],
  };
}
