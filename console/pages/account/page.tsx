/** Oneself: name and address, password, tokens, and the browsers in which one is signed in. */
import { useQuery } from "@tanstack/react-query";
import { account } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page, Section } from "../../ui/page.tsx";
import { Asked, Empty } from "../../components/states.tsx";
import { MakeToken } from "../tokens/make-token.tsx";
import { TokensTable } from "../tokens/table.tsx";
import { Password, Profile } from "./forms.tsx";
import { Sessions } from "./sessions.tsx";
import { tokensOfUser } from "../../api/detail-queries.ts";

export default function AccountPage() {
  const me = useQuery(account());
  return (
    <Page title="Account" crumbs={[{ label: "Organizations", to: paths.home() }]}>
      <Asked query={me}>
        {({ data, etag }) => (
          <>
            <Profile key={etag} user={data} />
            <Tokens userId={data.id} name={data.attributes.username} />
            <Sessions />
            <Password />
          </>
        )}
      </Asked>
    </Page>
  );
}

function Tokens({ userId, name }: { readonly userId: string; readonly name: string }) {
  const tokens = useQuery(tokensOfUser(userId));
  return (
    <Section
      title="Tokens"
      about="Your tokens can do everything that you can. For automation, use a team token instead."
      actions={
        <MakeToken
          operation="POST /users/{user_id}/authentication-tokens"
          path={{ user_id: userId }}
          verb="Create token"
          holder={name}
        />
      }
    >
      <Asked query={tokens}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No tokens yet">Create one for Terraform, OpenTofu or a script that calls the API.</Empty>
          ) : (
            <TokensTable label="Your tokens" tokens={data} />
          )
        }
      </Asked>
    </Section>
  );
}
