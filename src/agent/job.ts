/** Parses the job that the server sends. */
import { z } from "zod";
import { type Product, products } from "./settings.ts";

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

export interface ClaimedJobDocument {
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

export function parseJob(body: unknown): ClaimedJobDocument {
  const parsed = document.safeParse(body);
  if (!parsed.success)
    throw new Error(
      `The server sent a job that this agent can't read (${z.prettifyError(parsed.error).replaceAll("\n", "; ")}). Use an agent of the server's version.`,
    );
  const { id, attributes: given } = parsed.data.data;
  return {
    id,
    attempt: given.attempt,
    phase: given.phase,
    runId: given["run-id"],
    workspaceId: given["workspace-id"],
    workspaceName: given["workspace-name"],
    organizationName: given["organization-name"],
    projectId: given["project-id"] ?? null,
    projectName: given["project-name"] ?? null,
    engine: given.engine ?? null,
    engineVersion: given["engine-version"],
    workingDirectory: given["working-directory"] ?? "",
    structured: given.structured,
    isDestroy: given["is-destroy"],
    refresh: given.refresh,
    refreshOnly: given["refresh-only"],
    allowConfigGeneration: given["allow-config-generation"],
    debuggingMode: given["debugging-mode"],
    targetAddrs: given["target-addrs"] ?? [],
    replaceAddrs: given["replace-addrs"] ?? [],
    variables: given.variables.map((each) => ({ ...each, value: each.value ?? "" })),
    token: given.token,
    server: given.server.replace(/\/+$/, ""),
    configurationUrl: given["configuration-url"],
    stateUrl: given["state-url"] ?? null,
    timeoutSeconds: given["timeout-seconds"],
    sshKey: given["ssh-key"] ?? null,
    commit: {
      branch: given.commit?.branch ?? null,
      sha: given.commit?.sha ?? null,
      tag: given.commit?.tag ?? null,
    },
    identityTokens: given["identity-tokens"],
    logBytesMax: given["log-bytes-max"],
  };
}
