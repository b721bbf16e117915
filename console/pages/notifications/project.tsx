/** Notifications about the workspaces of a project. */
import { ProjectFrame } from "../projects/frame.tsx";
import { Notifications } from "./list.tsx";

export default function ProjectNotificationsPage() {
  return (
    <ProjectFrame>{({ project }) => <Notifications subject={{ kind: "project", id: project.id }} />}</ProjectFrame>
  );
}
