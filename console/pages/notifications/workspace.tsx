/** Notifications about a workspace. */
import { WorkspaceFrame } from "../workspace/frame.tsx";
import { Notifications } from "./list.tsx";

export default function WorkspaceNotificationsPage() {
  return (
    <WorkspaceFrame>
      {({ workspace }) => <Notifications subject={{ kind: "workspace", id: workspace.id }} />}
    </WorkspaceFrame>
  );
}
