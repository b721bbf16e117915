/** A workspace at a glance. */
import { Text } from "@mantine/core";
import { WorkspaceFrame } from "./frame.tsx";

export default function WorkspaceOverviewPage() {
  return <WorkspaceFrame>{({ workspace }) => <Text>{workspace.id}</Text>}</WorkspaceFrame>;
}
