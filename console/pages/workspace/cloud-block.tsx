/** What is pasted into a configuration to work with a workspace. */
import { CodeToCopy } from "../../ui/text.tsx";
import { cloudBlock } from "../first-start/cloud-block.ts";

export function CloudBlock({ organization, name }: { readonly organization: string; readonly name: string }) {
  const text = cloudBlock({ origin: location.origin, organization, workspace: name });
  return <CodeToCopy label="The cloud block" text={text} />;
}
