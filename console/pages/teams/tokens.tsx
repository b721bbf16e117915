/** The tokens of a team. */
import { useQuery } from "@tanstack/react-query";
import { askingWhole } from "../../api/whole.ts";
import { Asked, Empty } from "../../ui/states.tsx";
import { MakeToken } from "../tokens/make-token.tsx";
import { Rotate } from "../tokens/rotate.tsx";
import { TokensTable } from "../tokens/table.tsx";
import { TeamFrame, type TeamPlace } from "./frame.tsx";

export default function TeamTokensPage() {
  return (
    <TeamFrame
      actions={({ team }) =>
        team.attributes.permissions["can-update-api-token"] && (
          <MakeToken
            operation="POST /teams/{team_id}/authentication-tokens"
            path={{ team_id: team.id }}
            verb="Make a token"
            holder={`the team ${team.attributes.name}`}
          />
        )
      }
    >
      {(place) => <Tokens {...place} />}
    </TeamFrame>
  );
}

function Tokens({ organization, team }: TeamPlace) {
  const tokens = useQuery(askingWhole("GET /teams/{team_id}/authentication-tokens", { path: { team_id: team.id } }));
  return (
    <Asked query={tokens}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="The team has no tokens">
            A team's token may do what the team may do. Pipelines that can show who they are need none: see identity
            trusts in the documentation.
          </Empty>
        ) : (
          <TokensTable
            label="Tokens"
            tokens={data}
            organization={organization}
            more={(token) => <Rotate token={token} holder={{ kind: "teams", id: team.id }} />}
          />
        )
      }
    </Asked>
  );
}
