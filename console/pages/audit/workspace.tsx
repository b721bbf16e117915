/** The audit log of one workspace. */
import { WorkspaceFrame } from "../workspace/frame.tsx";
import { AuditTrail } from "./trail.tsx";

export default function WorkspaceAuditPage() {
  return (
    <WorkspaceFrame>
      {({ organization, workspace }) => (
        <AuditTrail organization={organization} subject={{ type: "workspaces", id: workspace.id }} />
      )}
    </WorkspaceFrame>
  );
}
