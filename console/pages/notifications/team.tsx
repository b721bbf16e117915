/** Who is told, for a team, of what happens in the workspaces that it may read. */
import { TeamFrame } from "../teams/frame.tsx";
import { Notifications } from "./list.tsx";

export default function TeamNotificationsPage() {
  return <TeamFrame>{({ team }) => <Notifications subject={{ kind: "team", id: team.id }} />}</TeamFrame>;
}
