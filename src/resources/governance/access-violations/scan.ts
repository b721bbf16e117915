/** The background job that finds violations. It evaluates existing access in batches, and never changes access. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { AccessViolationTable } from "../../../database/schema/access-violations.ts";
import { newId } from "../../../kernel/ids.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { isRefusal } from "../../shared/hooks.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { type EnabledRule, evaluateActions, referencesOf } from "../access-rules/engine.ts";
import { loadFacts } from "../access-rules/facts.ts";
import { enabledRulesOf } from "../access-rules/reads.ts";
import {
  completeScan,
  deleteObsoleteViolations,
  deleteViolations,
  type DueScan,
  findDueScan,
  findViolationsOf,
  insertViolations,
  lockOrganizationToScan,
} from "./store.ts";
import { type SubjectPage, type SubjectReader, subjectReaders, type ViolationSubject } from "./subjects.ts";

/** Less than an hour, because the job looks once a minute. */
const staleAfterMs = 55 * 60_000;
const subjectsPerBatch = 50;
const violationsPerBatch = 1000;

/** Returns how many grants, seats and tokens it evaluated. An interrupted scan begins again; a failed one does not keep the others waiting. */
export async function findViolations(work: JobContext): Promise<number> {
  const { context, signal } = work;
  let [handled, afterId] = [0, ""];
  let failure: unknown;
  while (!signal.aborted) {
    const scan = await findDueScan(context.database.reader, nowMs() - staleAfterMs, afterId);
    if (scan === undefined) break;
    afterId = scan.organizationId;
    try {
      handled += await scanOrganization(work, scan);
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return handled;
}

async function scanOrganization(work: JobContext, scan: DueScan): Promise<number> {
  const { capability, signal, step } = work;
  let handled = 0;
  const startedMs = await startScan(work, scan.organizationId);
  for (const read of subjectReaders) handled += await scanSubjects(work, scan.organizationId, read);
  if (startedMs !== undefined && !signal.aborted) await step((tx) => completeScan(tx, capability, scan, startedMs));
  return handled;
}

/**
 * Deletes obsolete violations. Returns when it held the organization's lock: what is written to a rule later has a later `updated-at`, and
 * may not be evaluated completely. Undefined if it was interrupted.
 */
async function startScan(
  { capability, signal, step }: JobContext,
  organizationId: string,
): Promise<number | undefined> {
  while (!signal.aborted) {
    const { count, startedMs } = await step(async (tx) => {
      const isOpen = await lockOrganizationToScan(tx, capability, organizationId);
      const startedMs = nowMs();
      const count = isOpen ? await deleteObsoleteViolations(tx, capability, organizationId, violationsPerBatch) : 0;
      return { count, startedMs };
    });
    if (count < violationsPerBatch) return startedMs;
  }
  return undefined;
}

async function scanSubjects(
  { capability, signal, step }: JobContext,
  organizationId: string,
  read: SubjectReader,
): Promise<number> {
  let page: SubjectPage | undefined = { organizationId, after: ["", ""], limit: subjectsPerBatch };
  let handled = 0;
  while (page !== undefined && !signal.aborted) {
    const current: SubjectPage = page;
    const subjects = await step((tx) => scanBatch(tx, capability, current, read));
    handled += subjects.length;
    const last = subjects.length < subjectsPerBatch ? undefined : subjects.at(-1);
    page = last && { ...current, after: last.position };
  }
  return handled;
}

/** A constant number of statements. Returns the subjects, none if no rule refuses anything. */
async function scanBatch(
  tx: Tx,
  by: Capability<"job">,
  page: SubjectPage,
  read: SubjectReader,
): Promise<ViolationSubject[]> {
  const { organizationId } = page;
  if (!(await lockOrganizationToScan(tx, by, organizationId))) return [];
  const rules = (await enabledRulesOf(tx, organizationId)).filter(({ enforcement }) => enforcement !== "advise");
  if (rules.length === 0) return [];
  const subjects = await read(tx, page);
  if (subjects.length > 0) await recordViolations(tx, by, organizationId, subjects, rules);
  return subjects;
}

async function recordViolations(
  tx: Tx,
  by: Capability<"job">,
  organizationId: string,
  subjects: readonly ViolationSubject[],
  rules: readonly EnabledRule[],
): Promise<void> {
  const known = await findViolationsOf(
    tx,
    organizationId,
    subjects.map(({ key }) => key.subjectId),
  );
  const actions = subjects.map(({ action }) => action);
  const matches = await evaluateActions(rules, await loadFacts(tx, referencesOf(organizationId, actions)), actions);
  const since = now();
  const found = subjects.flatMap(({ key, action }, position) =>
    (matches[position] ?? [])
      .filter((match) => isRefusal(match, action.isApproved))
      .map((match) => ({ ...key, organizationId, accessRuleId: match.rule.id, since })),
  );
  const knownKeys = new Set(known.map(keyOf));
  const foundKeys = new Set(found.map(keyOf));
  const added = found.filter((violation) => !knownKeys.has(keyOf(violation)));
  await insertViolations(
    tx,
    by,
    added.map((violation) => ({ id: newId("access-violations"), ...violation })),
  );
  const gone = known.filter((violation) => !foundKeys.has(keyOf(violation)));
  await deleteViolations(
    tx,
    by,
    gone.map(({ id }) => id),
  );
}

const keyOf = ({ subjectId, accessRuleId }: Pick<AccessViolationTable, "subjectId" | "accessRuleId">) =>
  `${subjectId} ${accessRuleId}`;
