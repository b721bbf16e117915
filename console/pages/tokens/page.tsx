/** Every token that the caller may manage in an organization, of whatever kind; those that want a look first. */
import { Alert, Group, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { account, organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Link } from "../../ui/link.tsx";
import { useNow } from "../../ui/now.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, LoadingRows, Refusal } from "../../ui/states.tsx";
import { counted } from "../../ui/text.tsx";
import { useTokens, type Held } from "./every-kind.ts";
import { MakeToken } from "./make-token.tsx";
import { Rotate } from "./rotate.tsx";
import { TokensTable } from "./table.tsx";
import { concernOf } from "./words.ts";

export default function TokensPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const { held, leftOut, isLoading, errors } = useTokens(organization);
  const rights = useQuery(organizationQuery(organization)).data?.data.attributes.permissions;
  const me = useQuery(account()).data?.data;
  const byId = new Map(held.map((one) => [one.token.id, one]));
  return (
    <Page
      title="Tokens"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Whatever speaks to this organization without a person: the tokens that you may manage."
      actions={
        <>
          {rights?.["can-update-api-token"] && !held.some(({ kind }) => kind === "organization") && (
            <MakeToken
              operation="POST /organizations/{organization_name}/authentication-token"
              path={{ organization_name: organization }}
              verb="Make the organization's token"
              holder={organization}
            />
          )}
          {me && (
            <MakeToken
              operation="POST /users/{user_id}/authentication-tokens"
              path={{ user_id: me.id }}
              verb="Make a token"
              dialog="create"
              holder={me.attributes.username}
            />
          )}
        </>
      }
    >
      {errors.map((error) => (
        <Refusal key={String(error)} error={error} />
      ))}
      <Concerns held={held} />
      {leftOut > 0 && (
        <Alert color="yellow" mb="sm" role="note">
          {counted(leftOut, "token")} more than a page can hold {leftOut === 1 ? "is" : "are"} not here: see the pages
          of teams and agent pools.
        </Alert>
      )}
      {isLoading && held.length === 0 ? <LoadingRows rows={6} /> : null}
      {!isLoading && held.length === 0 && errors.length === 0 && (
        <Empty title="No tokens that you may manage">
          Make one of your own above, or one for a team on the <Link to={paths.teams(organization)}>team's page</Link>.
        </Empty>
      )}
      {held.length > 0 && (
        <TokensTable
          label="Tokens"
          tokens={held.map(({ token }) => token)}
          organization={organization}
          reachable={(token) => byId.get(token.id)?.kind !== "agents" && byId.get(token.id)?.kind !== "audit trail"}
          holder={(token) => <Holder organization={organization} held={byId.get(token.id)} />}
          more={(token) => {
            const rotation = byId.get(token.id)?.rotation;
            return rotation && <Rotate token={token} holder={rotation} />;
          }}
        />
      )}
    </Page>
  );
}

function Concerns({ held }: { readonly held: readonly Held[] }) {
  const now = useNow();
  const count = (concern: string) => held.filter(({ token }) => concernOf(token, now) === concern).length;
  const [expiring, unused] = [count("expiring"), count("unused")];
  if (held.length === 0) return null;
  return (
    <Group gap="lg" mb="sm" c="dimmed" fz="sm">
      <Text inherit>{counted(held.length, "token")}</Text>
      <Text inherit>{expiring === 0 ? "none ends within two weeks" : `${expiring} within two weeks of their end`}</Text>
      <Text inherit>{unused === 0 ? "all in use" : `${unused} unused for three months`}</Text>
    </Group>
  );
}

function Holder({ organization, held }: { readonly organization: string; readonly held: Held | undefined }) {
  if (held === undefined) return null;
  const to = held.page?.(organization);
  return (
    <Group gap={6} wrap="nowrap">
      <Text span inherit c="dimmed" fz="xs">
        {held.kind}
      </Text>
      {to ? <Link to={to}>{held.name}</Link> : <span>{held.name}</span>}
    </Group>
  );
}
