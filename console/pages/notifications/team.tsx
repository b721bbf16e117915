/** Notifications about the workspaces that a team can read. */
import { TeamFrame } from "../teams/frame.tsx";
import { Notifications } from "./list.tsx";

export default function TeamNotificationsPage() {
  return <TeamFrame>{({ team }) => <Notifications subject={{ kind: "team", id: team.id }} />}</TeamFrame>;
}
