/** The agent protocol: claim a job, send heartbeats, log and contents, finish it. Only the current attempt can report. */
import { z } from "zod";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { flag, text, wholeNumber } from "../../../jsonapi/schemas.ts";
import { agents, protocol, unavailableEngines } from "../agents/definition.ts";
import type { AgentJob } from "./job.ts";

const ofJob = "/agent-jobs/:agent_job_id";
const attempt = wholeNumber();
const attemptParameter = textParameter("The attempt number from the claim.");
const waitSecondsMax = { claim: 25, heartbeat: 8 } as const;
export const agentJobContentKinds = [
  "plan",
  "plan-json",
  "provider-schemas",
  "lock-file",
  "generated-configuration",
  "errored-state",
] as const;
export type AgentJobContentKind = (typeof agentJobContentKinds)[number];

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
  doc: "A plan or an apply, with everything that an agent needs to execute it. Its id is the id of the plan or apply.",
  id: (job) => job.id,
  isUncacheable: true,
  attributes: {
    attempt: readOnly(attempt, "How many times the job was claimed. Every report must send this number."),
    phase: readOnly(text(), "The phase to execute: `plan` or `apply`."),
    "run-id": readOnly(text(), "The run's id."),
    "workspace-id": readOnly(text(), "The workspace's id."),
    "workspace-name": readOnly(text(), "The workspace's name."),
    "organization-name": readOnly(text(), "The organization's name."),
    "project-id": readOnly(text(), "The id of the workspace's project."),
    "project-name": readOnly(text(), "The name of the workspace's project."),
    engine: readOnly(text(), "The engine to use: `terraform` or `tofu`."),
    "engine-version": readOnly(text(), "The exact engine version."),
    "working-directory": readOnly(text(), "The engine's directory within the configuration; empty for its root."),
    structured: readOnly(flag(), "Whether the engine writes JSON output."),
    "is-destroy": readOnly(flag(), "Whether the run destroys all managed resources."),
    refresh: readOnly(flag(), "Whether the state is refreshed before planning."),
    "refresh-only": readOnly(flag(), "Whether the run only updates the state to match the real resources."),
    "allow-config-generation": readOnly(flag(), "Whether configuration can be generated for imported resources."),
    "debugging-mode": readOnly(flag(), "Whether the engine writes debug output to the log."),
    "target-addrs": readOnly(z.array(text()).nullable(), "Addresses of the only resources to plan; null for all."),
    "replace-addrs": readOnly(z.array(text()).nullable(), "Addresses of resources to replace; null for none."),
    variables: readOnly(variables, "The run's effective variables."),
    token: readOnly(text(), "The run's token, valid until the phase ends."),
    server: readOnly(text(), "The URL of the server."),
    "configuration-url": readOnly(text(), "The URL of the configuration archive, to be fetched with the run's token."),
    "state-url": readOnly(
      text().nullable(),
      "The URL of the input state, to be fetched with the run's token; null if the workspace has no state.",
    ),
    "input-state-version-id": readOnly(text().nullable(), "The id of the input state version."),
    "timeout-seconds": readOnly(wholeNumber(), "The time limit of the phase, in seconds."),
    "ssh-key": readOnly(text().nullable(), "The workspace's private SSH key for fetching modules."),
    commit: readOnly(
      z.object({ branch: text().nullable(), sha: text().nullable(), tag: text().nullable() }).nullable(),
      "The commit of the configuration.",
    ),
    "identity-tokens": readOnly(
      z.array(z.object({ name: text(), value: text() })),
      "Signed workload identity tokens of the run, by environment variable.",
    ),
    "log-bytes-max": readOnly(wholeNumber(), "The maximum size of the log, in bytes."),
  },
  relationships: {},
  operations: {
    claimJob: {
      ...byAgents,
      method: "POST",
      path: "/agents/:agent_id/actions/claim",
      summary: "Wait for a job and claim it; 204 if there is none",
      body: {
        custom: z.object({
          wait: z.number().min(0).max(waitSecondsMax.claim).optional(),
          engines,
          "unavailable-engines": unavailableEngines.optional(),
        }),
      },
      answer: "document",
      noContentWhen: "No job was available.",
      example: { wait: 0, engines: { terraform: ["1.5.7"] } },
    },
    heartbeatJob: {
      ...action("heartbeat"),
      summary: "Send a heartbeat for a job, and wait for a signal: null, `cancel` or `kill`",
      body: { custom: z.object({ attempt, wait: z.number().min(0).max(waitSecondsMax.heartbeat).optional() }) },
      answer: "content",
      example: { attempt: 1, wait: 0 },
    },
    startJob: {
      ...action("start"),
      summary: "Report that the engine is about to start",
      body: { custom: z.object({ attempt }) },
      answer: "nothing",
      example: { attempt: 1 },
    },
    logJob: {
      ...byAgents,
      method: "PUT",
      path: `${ofJob}/log`,
      summary: "Append to a job's log; bytes that were already sent are ignored",
      query: {
        parameters: {
          attempt: attemptParameter,
          offset: textParameter("The offset of the first byte sent, counted in this attempt."),
        },
      },
      body: { stream: true },
      answer: "nothing",
    },
    putJobContent: {
      ...contents,
      method: "PUT",
      summary: "Upload an output of a job",
      body: { stream: true },
      answer: "nothing",
    },
    getJobContent: {
      ...contents,
      method: "GET",
      summary: "Download an output of the plan, for its apply",
      answer: "content",
      mediaType: "application/octet-stream",
    },
    finishJob: {
      ...action("finish"),
      summary: "Report the result of a job",
      body: {
        custom: z.object({
          attempt,
          result: z.enum(["finished", "errored", "canceled", "returned"]),
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
