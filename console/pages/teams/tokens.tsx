/** The tokens of a team. */
import { useQuery } from "@tanstack/react-query";
import { Asked, Empty } from "../../components/states.tsx";
import { MakeToken } from "../tokens/make-token.tsx";
import { Rotate } from "../tokens/rotate.tsx";
import { TokensTable } from "../tokens/table.tsx";
import { TeamFrame, type TeamPlace } from "./frame.tsx";
import { tokensOfTeam } from "../../api/detail-queries.ts";

export default function TeamTokensPage() {
  return (
    <TeamFrame
      actions={({ team }) =>
        team.attributes.permissions["can-update-api-token"] && (
          <MakeToken
            operation="POST /teams/{team_id}/authentication-tokens"
            path={{ team_id: team.id }}
            verb="Create token"
            holder={`the team ${team.attributes.name}`}
          />
        )
      }
    >
      {(details) => <Tokens {...details} />}
    </TeamFrame>
  );
}

function Tokens({ organization, team }: TeamPlace) {
  const tokens = useQuery(tokensOfTeam(team.id));
  return (
    <Asked query={tokens}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="No tokens yet">
            A team token has the access of the team. Pipelines that can prove their identity need no token: see identity
            trusts.
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
