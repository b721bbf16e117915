/**
 * A job: a plan or an apply in the hands of an agent. This is the protocol of agents: claim one, say that it goes on, send its log and
 * what comes of it, and say how it ended. Every report names its attempt, and any but the current one's is refused.
 */
import { z } from "zod";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { flag, text, wholeNumber } from "../../../jsonapi/schemas.ts";
import { agents, protocol } from "../agents/definition.ts";
import type { AgentJob } from "./job.ts";

const ofJob = "/agent-jobs/:agent_job_id";
const attempt = wholeNumber();
const attemptParameter = textParameter("The attempt that the claim gave.");
const waitSecondsMax = { claim: 25, heartbeat: 8 } as const;
export const contentKinds = [
  "plan",
  "plan-json",
  "provider-schemas",
  "lock-file",
  "generated-configuration",
  "errored-state",
] as const;
export type ContentKind = (typeof contentKinds)[number];

const byAgents = { needs: protocol, callers: "agents" } as const;

const action = (name: string) =>
  ({ ...byAgents, method: "POST", path: `${ofJob}/actions/${name}` as `${typeof ofJob}/actions/${string}` }) as const;

const contents = {
  ...byAgents,
  path: `${ofJob}/contents/:content_kind`,
  query: { parameters: { attempt: attemptParameter } },
} as const satisfies Partial<Operation>;

const engines = agents.attributes.engines.schema;
const variables = z.array(z.object({ key: text(), value: text(), category: text(), hcl: flag(), sensitive: flag() }));

export const agentJobs = defineResource<AgentJob>()(({ readOnly }) => ({
  type: "agent-jobs",
  doc: "A plan or an apply, with everything that an agent needs to execute it. Its id is that of the plan or apply.",
  id: (job) => job.id,
  hasExpiring: true,
  attributes: {
    attempt: readOnly(attempt, "How often it was claimed; every report carries it."),
    phase: readOnly(text(), "`plan` or `apply`."),
    "run-id": readOnly(text(), "The run."),
    "workspace-id": readOnly(text(), "The workspace."),
    "workspace-name": readOnly(text(), "Its name."),
    "organization-name": readOnly(text(), "The organization."),
    "project-id": readOnly(text(), "The workspace's project."),
    "project-name": readOnly(text(), "Its name."),
    engine: readOnly(text(), "`terraform` or `tofu`."),
    "engine-version": readOnly(text(), "The exact version."),
    "working-directory": readOnly(text(), "Where in the configuration the engine works; empty for its top."),
    structured: readOnly(flag(), "Whether the engine is to speak JSON."),
    "is-destroy": readOnly(flag(), "Whether everything is to be destroyed."),
    refresh: readOnly(flag(), "Whether the state is refreshed before planning."),
    "refresh-only": readOnly(flag(), "Whether nothing but that is planned."),
    "allow-config-generation": readOnly(flag(), "Whether configuration may be generated for imports."),
    "debugging-mode": readOnly(flag(), "Whether the engine is to tell everything."),
    "target-addrs": readOnly(z.array(text()).nullable(), "The only resources to look at; null for all."),
    "replace-addrs": readOnly(z.array(text()).nullable(), "Resources to replace; null for none."),
    variables: readOnly(variables, "The variables in force, the run's own among them."),
    token: readOnly(text(), "The run's token, good until the phase ends."),
    server: readOnly(text(), "Where the service is reached."),
    "configuration-url": readOnly(text(), "The configuration, fetched with the run's token."),
    "state-url": readOnly(
      text().nullable(),
      "The state to begin with, fetched with the run's token; null when there is none.",
    ),
    "input-state-version-id": readOnly(text().nullable(), "Which state that is."),
    "timeout-seconds": readOnly(wholeNumber(), "How long it may take."),
    "ssh-key": readOnly(text().nullable(), "The workspace's private key for modules."),
    commit: readOnly(
      z.object({ branch: text().nullable(), sha: text().nullable(), tag: text().nullable() }).nullable(),
      "The commit that the configuration comes from.",
    ),
    "identity-tokens": readOnly(z.array(z.object({ name: text(), value: text() })), "Signed identities of the run."),
    "log-bytes-max": readOnly(wholeNumber(), "No log is longer."),
  },
  relationships: {},
  operations: {
    claimJob: {
      ...byAgents,
      method: "POST",
      path: "/agents/:agent_id/actions/claim",
      summary: "Wait for a job and take it; 204 when none came",
      body: { custom: z.object({ wait: z.number().min(0).max(waitSecondsMax.claim).optional(), engines }) },
      answer: "document",
      elseNothing: "No job came.",
      example: { wait: 0, engines: { terraform: ["1.5.7"] } },
    },
    heartbeatJob: {
      ...action("heartbeat"),
      summary: "Say that a job goes on, and wait for a signal: null, `cancel` or `kill`",
      body: { custom: z.object({ attempt, wait: z.number().min(0).max(waitSecondsMax.heartbeat).optional() }) },
      answer: "content",
      example: { attempt: 1, wait: 0 },
    },
    startJob: {
      ...action("start"),
      summary: "Say that the engine is about to be started",
      body: { custom: z.object({ attempt }) },
      answer: "nothing",
      example: { attempt: 1 },
    },
    logJob: {
      ...byAgents,
      method: "PUT",
      path: `${ofJob}/log`,
      summary: "Send a piece of a job's log; one that was sent before is let pass",
      query: {
        parameters: {
          attempt: attemptParameter,
          offset: textParameter("Where the piece begins, in bytes of this attempt."),
        },
      },
      body: { stream: true },
      answer: "nothing",
    },
    putJobContent: {
      ...contents,
      method: "PUT",
      summary: "Send something that a job made",
      body: { stream: true },
      answer: "nothing",
    },
    getJobContent: {
      ...contents,
      method: "GET",
      summary: "Fetch what the plan of an apply has left",
      answer: "content",
      mediaType: "application/octet-stream",
    },
    finishJob: {
      ...action("finish"),
      summary: "Say how a job ended",
      body: {
        custom: z.object({
          attempt,
          result: z.enum(["finished", "errored", "canceled"]),
          "has-changes": z.boolean().optional(),
          "resource-additions": wholeNumber().optional(),
          "resource-changes": wholeNumber().optional(),
          "resource-destructions": wholeNumber().optional(),
          "resource-imports": wholeNumber().optional(),
          "action-invocations": wholeNumber().optional(),
          "error-message": z.string().nullish(),
        }),
      },
      answer: "nothing",
      example: { attempt: 1, result: "finished", "has-changes": false },
    },
  },
}));
