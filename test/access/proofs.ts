/**
 * Proofs of permission checks work: what was only read can't be written. The compiler reads this file with every `npm run check`, and
 * nothing runs it. Each line with `@ts-expect-error` must not compile; if one does, because a function that writes requires less
 * than it should, or a read proves more, `check` fails with "Unused '@ts-expect-error' directive".
 */
import { Capability, type CapabilityName } from "../../src/access/capability.ts";
import { type CheckedPermission, authorize, type Granted } from "../../src/access/granted.ts";
import type { Tx } from "../../src/database/database.ts";
import type { ProjectTable } from "../../src/database/schema/projects.ts";
import type { WorkspaceTable } from "../../src/database/schema/workspaces.ts";
import { loadOrganization } from "../../src/resources/identity/organizations/reads.ts";
import type { ProjectView } from "../../src/resources/register/projects/definition.ts";
import { authorizeProject, loadProject } from "../../src/resources/register/projects/reads.ts";
import { deleteProjectRow, insertProject, updateProjectRow } from "../../src/resources/register/projects/store.ts";
import { authorizeWorkspace, loadWorkspace } from "../../src/resources/register/workspaces/reads.ts";
import {
  deleteWorkspaceRow,
  insertWorkspace,
  updateWorkspaceRow,
} from "../../src/resources/register/workspaces/store.ts";
import type { WorkspaceView } from "../../src/resources/register/workspaces/view.ts";
import {
  moveWorkspaceRows,
  touchAfterRetentionChange,
  setVarIds,
} from "../../src/resources/register/workspaces/writes.ts";
import { linkTags, unlinkTags } from "../../src/resources/register/tags/store.ts";
import { replaceBindings } from "../../src/resources/register/tag-bindings/writes.ts";
import { createRun } from "../../src/resources/runs/runs/lifecycle.ts";
import { deleteFinished } from "../../src/resources/shared/outbox/store.ts";
import type { JobContext } from "../../src/resources/shared/job-context.ts";
import type { Context } from "../../src/resources/shared/context.ts";

export async function workspaces(tx: Tx, context: Context, row: WorkspaceTable): Promise<void> {
  const read = await loadWorkspace(tx, context, { workspaceId: row.id }, "change");
  // @ts-expect-error: it was only read
  await updateWorkspaceRow(tx, read, {});
  // @ts-expect-error: it was only read
  await deleteWorkspaceRow(tx, read);
  // @ts-expect-error: it was only read
  await setVarIds(tx, read, "");
  // @ts-expect-error: it was only read
  await touchAfterRetentionChange(tx, read);
  // @ts-expect-error: it was only read
  await linkTags(tx, [read], []);
  // @ts-expect-error: it was only read
  await unlinkTags(tx, read, []);
  // @ts-expect-error: it was only read
  await replaceBindings(tx, { workspace: read }, []);
  // @ts-expect-error: an unchecked row
  await updateWorkspaceRow(tx, row, {});
  // @ts-expect-error: updating does not allow deleting
  await deleteWorkspaceRow(tx, authorizeWorkspace(read, "can-update"));
  // @ts-expect-error: deleting does not allow updating
  await updateWorkspaceRow(tx, authorizeWorkspace(read, "can-destroy"), {});
  // @ts-expect-error: an unspecified permission proves nothing
  await updateWorkspaceRow(tx, read as Granted<WorkspaceView, string>, {});

  await updateWorkspaceRow(tx, authorizeWorkspace(read, "can-update"), {});
  await deleteWorkspaceRow(tx, authorizeWorkspace(read, "can-destroy"));
}

export async function runs(tx: Tx, context: Context, work: JobContext): Promise<void> {
  const input = { source: "tfe-api", triggerReason: "manual" } as const;
  const read = await loadWorkspace(tx, context, { workspaceId: "" }, "change");
  // @ts-expect-error: it was only read
  await createRun(tx, context, read, input);
  // @ts-expect-error: updating a workspace does not allow queueing runs
  await createRun(tx, context, authorizeWorkspace(read, "can-update"), input);
  // @ts-expect-error: a copy is not what was checked
  await createRun(tx, context, { ...authorizeWorkspace(read, "can-queue-run"), id: "" }, input);
  const check = { thing: "workspace", visible: true, allowed: true, needs: "nothing" } as const;
  // @ts-expect-error: no permission check proves that a caller is a job
  await createRun(tx, context, authorize(read, { ...check, permission: "job" }), input);

  await createRun(tx, context, authorizeWorkspace(read, "can-queue-run"), input);
  await createRun(tx, context, work.capability.proofFor(read), input);
}

/** No permission check can prove the name of a capability. */
export const areApart: [Extract<CapabilityName, CheckedPermission>] extends [never] ? true : false = true;

export async function capabilities(tx: Tx, { capability }: JobContext, webhook: Capability<"webhook">): Promise<void> {
  // @ts-expect-error: a string is no capability
  await deleteFinished(tx, "a job", "", 1);
  // @ts-expect-error: neither is an object
  await deleteFinished(tx, { proofFor: capability.proofFor }, "", 1);
  // @ts-expect-error: nor another's
  await deleteFinished(tx, webhook, "", 1);
  // @ts-expect-error: only an issuer creates one
  await deleteFinished(tx, new Capability("job", undefined), "", 1);

  await deleteFinished(tx, capability, "", 1);
}

export async function projects(tx: Tx, context: Context, row: ProjectTable, made: WorkspaceTable): Promise<void> {
  const read = await loadProject(tx, context, row.id, "change");
  // @ts-expect-error: it was only read
  await updateProjectRow(tx, read, {});
  // @ts-expect-error: it was only read
  await deleteProjectRow(tx, read);
  // @ts-expect-error: reading a project does not allow creating workspaces in it
  await insertWorkspace(tx, read, made);
  // @ts-expect-error: nor does updating it
  await insertWorkspace(tx, authorizeProject(read, "can-update"), made);
  // @ts-expect-error: nor moving workspaces into it
  await moveWorkspaceRows(tx, read, [], "");
  // @ts-expect-error: it was only read
  await replaceBindings(tx, { project: read }, []);
  // @ts-expect-error: an unspecified permission proves nothing
  await updateProjectRow(tx, read as Granted<ProjectView, string>, {});
  // @ts-expect-error: reading an organization does not allow creating projects in it
  await insertProject(tx, await loadOrganization(tx, context, ""), row);

  await updateProjectRow(tx, authorizeProject(read, "can-update"), {});
  await deleteProjectRow(tx, authorizeProject(read, "can-destroy"));
  await insertWorkspace(tx, authorizeProject(read, "can-create-workspace"), made);
}
