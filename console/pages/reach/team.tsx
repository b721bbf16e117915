/** The reach of a team. */
import { Reach } from "../../access/reach.tsx";
import { paths } from "../../paths.ts";
import { LinkButton } from "../../ui/link.tsx";
import { TeamFrame } from "../teams/frame.tsx";

export default function TeamReachPage() {
  return (
    <TeamFrame
      actions={({ organization, team }) => (
        <LinkButton to={paths.grant(organization, { team: team.id })}>Grant access</LinkButton>
      )}
    >
      {({ organization, team }) => <Reach organization={organization} of={{ team: team.id }} />}
    </TeamFrame>
  );
}
