/** Builds the job document that an agent receives with its claim. */
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import { timeoutSeconds } from "../../../kernel/time.ts";
import { type EffectiveVariable, withRunVariables } from "../../variables/vars/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { Ingress } from "../configuration-versions/ingress.ts";
import { type IdentityToken, signIdentityTokens } from "../identity-keys/writes.ts";
import { logBytesMax } from "../phases/logs.ts";
import { openRunVariables, openVariableSnapshot } from "../runs/variables.ts";
import { openWithId } from "../../shared/open-organizations.ts";

const planSecondsByDefault = 2 * 3600;
const applySecondsByDefault = 24 * 3600;

export function timeoutSecondsOf(options: Context["options"], phase: string): number {
  return phase === "plan"
    ? (options.planTimeoutSeconds ?? planSecondsByDefault)
    : (options.applyTimeoutSeconds ?? applySecondsByDefault);
}

type JobFlag = "isDestroy" | "refresh" | "refreshOnly" | "allowConfigGeneration" | "debuggingMode" | "structured";

export interface AgentJob extends Pick<RunTable, JobFlag | "engine" | "engineVersion" | "inputStateVersionId"> {
  readonly id: string;
  readonly attempt: number;
  readonly phase: "plan" | "apply";
  readonly runId: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly workingDirectory: string;
  readonly targetAddrs: readonly string[] | null;
  readonly replaceAddrs: readonly string[] | null;
  readonly variables: readonly Omit<EffectiveVariable, "priority">[];
  readonly token: string;
  readonly server: string;
  readonly configurationUrl: string;
  readonly stateUrl: string | null;
  readonly timeoutSeconds: number;
  readonly sshKey: string | null;
  readonly commit: { branch: string | null; sha: string | null; tag: string | null } | null;
  readonly identityTokens: readonly IdentityToken[];
  readonly logBytesMax: number;
}

interface JobWorkspace {
  readonly workspaceName: string;
  readonly workingDirectory: string | null;
  readonly projectId: string;
  readonly projectName: string;
  readonly organizationName: string;
  readonly planTimeout: string | null;
  readonly applyTimeout: string | null;
  readonly ingress: string | null;
  readonly sshKeyId: string | null;
  readonly sshKeyValue: Uint8Array | null;
}

const findJobWorkspace = prepared<{ workspaceId: string; configurationVersionId: string }, JobWorkspace>(
  (db, { workspaceId, configurationVersionId }) =>
    db
      .selectFrom("workspaces as w")
      .innerJoin("projects as p", "p.id", "w.projectId")
      .innerJoin("organizations as o", openWithId("w.organizationId"))
      .leftJoin("sshKeys as k", "k.id", "w.sshKeyId")
      .leftJoin("configurationVersions as c", (join) => join.on("c.id", "=", configurationVersionId))
      .select(["w.name as workspaceName", "w.workingDirectory", "p.id as projectId", "p.name as projectName"])
      .select(["o.planTimeout", "o.applyTimeout"])
      .select(["o.name as organizationName", "c.ingress", "k.id as sshKeyId", "k.value as sshKeyValue"])
      .where("w.id", "=", workspaceId),
);

export interface ClaimedPhase {
  readonly id: string;
  readonly kind: "plan" | "apply";
  readonly attempt: number;
  readonly token: string;
}

export async function buildJob(tx: Tx, context: Context, run: RunTable, phase: ClaimedPhase): Promise<AgentJob> {
  const { vault, options } = context;
  const { configurationVersionId, inputStateVersionId } = run;
  const [workspace] = await findJobWorkspace(tx, {
    workspaceId: run.workspaceId,
    configurationVersionId: configurationVersionId ?? "",
  });
  if (workspace === undefined) throw new Error(`The workspace of run ${run.id} does not exist.`);
  const secondsMax = limitByOrganization(workspace, phase.kind, timeoutSecondsOf(options, phase.kind));
  const variables = variablesOf(vault, run);
  const server = options.publicUrl;
  return {
    ...run,
    id: phase.id,
    attempt: phase.attempt,
    phase: phase.kind,
    runId: run.id,
    workspaceName: workspace.workspaceName,
    organizationName: workspace.organizationName,
    projectId: workspace.projectId,
    projectName: workspace.projectName,
    workingDirectory: workspace.workingDirectory ?? "",
    targetAddrs: listIn(run.targetAddrs),
    replaceAddrs: listIn(run.replaceAddrs),
    variables,
    token: phase.token,
    server,
    // By the run's route: the configuration may have been promoted from another workspace.
    configurationUrl: `${server}/api/v2/runs/${run.id}/configuration-version/download`,
    stateUrl: inputStateVersionId && `${server}/api/v2/state-versions/${inputStateVersionId}/download`,
    timeoutSeconds: secondsMax,
    sshKey: sshKeyIn(vault, workspace),
    commit: commitIn(workspace.ingress),
    identityTokens: await signIdentityTokens(
      tx,
      vault,
      identityOf(server, run, workspace, phase.kind, secondsMax),
      variables,
    ),
    logBytesMax,
  };
}

/** An organization's limit can only shorten the site's, because the lost-job check uses the site's. */
function limitByOrganization(workspace: JobWorkspace, kind: ClaimedPhase["kind"], siteSeconds: number): number {
  const ownSeconds = Math.floor(timeoutSeconds(workspace[`${kind}Timeout`] ?? ""));
  return ownSeconds > 0 ? Math.min(ownSeconds, siteSeconds) : siteSeconds;
}

function variablesOf(vault: Context["vault"], run: RunTable): AgentJob["variables"] {
  const effective = withRunVariables(openVariableSnapshot({ vault }, run), openRunVariables({ vault }, run));
  return effective.map(({ key, value, category, hcl, sensitive }) => ({ key, value, category, hcl, sensitive }));
}

const identityOf = (
  issuer: string,
  run: RunTable,
  workspace: JobWorkspace,
  phase: "plan" | "apply",
  timeoutSeconds: number,
): Parameters<typeof signIdentityTokens>[2] => ({
  issuer,
  organization: { id: run.organizationId, name: workspace.organizationName },
  project: { id: workspace.projectId, name: workspace.projectName },
  workspace: { id: run.workspaceId, name: workspace.workspaceName },
  runId: run.id,
  phase,
  timeoutSeconds,
});

const listIn = (json: string | null): readonly string[] | null =>
  json === null ? null : (JSON.parse(json) as readonly string[]);

const sshKeyIn = (vault: Context["vault"], { sshKeyId, sshKeyValue }: JobWorkspace): string | null =>
  sshKeyId === null || sshKeyValue === null
    ? null
    : Buffer.from(vault.open(`ssh_keys/${sshKeyId}/value`, sshKeyValue)).toString();

function commitIn(ingress: string | null): AgentJob["commit"] {
  if (ingress === null) return null;
  const { branch, commitSha: sha, tag } = JSON.parse(ingress) as Partial<Ingress>;
  return { branch: branch ?? null, sha: sha ?? null, tag: tag ?? null };
}
