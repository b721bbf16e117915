/** Where to look, for those who are told. Pure. */
import type { Told } from "./happenings.ts";

export interface Sender {
  readonly configurationId: string;
  readonly configurationName: string;
  readonly publicUrl: string;
}

interface Somewhere {
  readonly organizationName: string;
  readonly workspaceName: string;
}

const part = encodeURIComponent;

const workspaceUrlOf = (publicUrl: string, { organizationName, workspaceName }: Somewhere): string =>
  `${publicUrl}/app/${part(organizationName)}/workspaces/${part(workspaceName)}`;

export const runUrlOf = ({ publicUrl }: Sender, place: Somewhere & { readonly runId: string }): string =>
  `${workspaceUrlOf(publicUrl, place)}/runs/${place.runId}`;

/** Where to look. */
export function linkOf(sender: Sender, told: Told): string {
  if (told.about === "verification") return sender.publicUrl;
  const url = workspaceUrlOf(sender.publicUrl, told);
  const runId = told.about === "assessment" ? null : told.runId;
  return runId === null ? url : `${url}/runs/${runId}`;
}
