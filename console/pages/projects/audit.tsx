/** What was changed of one project. */
import { AuditTrail } from "../audit/trail.tsx";
import { ProjectFrame } from "./frame.tsx";

export default function ProjectAuditPage() {
  return (
    <ProjectFrame>
      {({ organization, project }) => (
        <AuditTrail organization={organization} subject={{ type: "projects", id: project.id }} />
      )}
    </ProjectFrame>
  );
}
