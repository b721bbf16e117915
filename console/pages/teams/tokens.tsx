/** The tokens of a team. */
import { useQuery } from "@tanstack/react-query";
import { QueryContent, Empty } from "../../components/states.tsx";
import { CreateToken } from "../tokens/create-token.tsx";
import { Rotate } from "../tokens/rotate.tsx";
import { TokensTable } from "../tokens/table.tsx";
import { TeamFrame, type TeamDetails } from "./frame.tsx";
import { tokensOfTeam } from "../../api/detail-queries.ts";

export default function TeamTokensPage() {
  return (
    <TeamFrame
      actions={({ team }) =>
        team.attributes.permissions["can-update-api-token"] && (
          <CreateToken
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

function Tokens({ organization, team }: TeamDetails) {
  const tokens = useQuery(tokensOfTeam(team.id));
  return (
    <QueryContent query={tokens}>
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
    </QueryContent>
  );
}
