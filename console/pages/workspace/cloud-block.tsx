/** The `cloud` block of a workspace, to copy. */
import { CodeToCopy } from "../../ui/text.tsx";
import { cloudBlock } from "../first-start/cloud-block.ts";

export function CloudBlock({ organization, name }: { readonly organization: string; readonly name: string }) {
  const text = cloudBlock({ origin: location.origin, organization, workspace: name });
  return <CodeToCopy label="Cloud block" text={text} />;
}
