/** Operations of the agent protocol. */
import { singleChunk } from "../../../kernel/streams.ts";
import { AppError } from "../../../kernel/errors.ts";
import { implement } from "../../shared/context.ts";
import { requireAgent } from "../agents/writes.ts";
import { claimJob } from "./claim.ts";
import { agentJobs } from "./definition.ts";
import { finishJob, getJobContent, heartbeatJob, appendJobLog, putJobContent, startJob } from "./reports.ts";

export const agentJobResource = implement(agentJobs, {
  async claimJob({ context, params, body }) {
    const { wait = 0, engines } = body;
    const unavailable = body["unavailable-engines"];
    const view = await claimJob(context, requireAgent(context), {
      agentId: params.agentId,
      waitMs: wait * 1000,
      engines,
      unavailable,
    });
    return view === undefined ? (undefined as never) : { view };
  },

  async heartbeatJob({ context, params, body: { attempt, wait = 0 } }) {
    const signal = await heartbeatJob(context, requireAgent(context), { id: idIn(params), attempt }, wait * 1000);
    const bytes = Buffer.from(JSON.stringify({ signal }));
    return { size: bytes.length, bytes: singleChunk(bytes) };
  },

  startJob: ({ context, params, body: { attempt } }) =>
    startJob(context, requireAgent(context), { id: idIn(params), attempt }),

  async logJob({ context, params, query, body }) {
    const report = {
      id: params.agentJobId,
      attempt: numberIn("attempt", query.attempt),
      offset: numberIn("offset", query.offset),
    };
    await appendJobLog(context, requireAgent(context), report, body);
  },

  async putJobContent({ context, params, query, body }) {
    const report = { id: params.agentJobId, attempt: numberIn("attempt", query.attempt), kind: params.contentKind };
    await putJobContent(context, requireAgent(context), report, body);
  },

  getJobContent: async ({ context, params, query }) =>
    getJobContent(context, requireAgent(context), {
      id: params.agentJobId,
      attempt: numberIn("attempt", query.attempt),
      kind: params.contentKind,
    }),

  async finishJob({ context, params, body }) {
    const { attempt, result } = body;
    await finishJob(
      context,
      requireAgent(context),
      { id: idIn(params), attempt },
      {
        result,
        hasChanges: body["has-changes"] ?? false,
        columns: {
          resourceAdditions: body["resource-additions"] ?? 0,
          resourceChanges: body["resource-changes"] ?? 0,
          resourceDestructions: body["resource-destructions"] ?? 0,
          resourceImports: body["resource-imports"] ?? 0,
          actionInvocations: body["action-invocations"] ?? 0,
          errorMessage: body["error-message"] ?? null,
        },
      },
    );
  },
});

/** The parameter types are lost in a path that is composed from parts. */
const idIn = (params: object): string => (params as { agentJobId: string }).agentJobId;

function numberIn(parameter: string, sent: string | undefined): number {
  if (sent !== undefined && /^\d{1,15}$/.test(sent)) return Number(sent);
  throw new AppError("bad-request", [{ parameter, detail: `${parameter} must be a whole number` }]);
}
