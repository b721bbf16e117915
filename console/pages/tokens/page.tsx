/** The tokens that the caller can manage in an organization; those that need attention first. */
import { Alert, Group, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { account, useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Link } from "../../ui/link.tsx";
import { useNow } from "../../now.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, LoadingRows, ErrorMessage } from "../../components/states.tsx";
import { counted, figure } from "../../ui/text.tsx";
import { useTokens, type ListedToken } from "./every-kind.ts";
import { CreateToken } from "./create-token.tsx";
import { Rotate } from "./rotate.tsx";
import { TokensTable, countTokens, soonDays, unusedDays } from "./table.tsx";

export default function TokensPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { held, leftOut, isLoading, errors } = useTokens(organization);
  const rights = useRights(organization);
  const me = useQuery(account()).data?.data;
  const byId = new Map(held.map((one) => [one.token.id, one]));
  return (
    <Page
      title="Tokens"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="API tokens for this organization that you can manage."
      actions={
        <>
          {rights?.["can-update-api-token"] && !isLoading && !held.some(({ kind }) => kind === "organization") && (
            <CreateToken
              operation="POST /organizations/{organization_name}/authentication-token"
              path={{ organization_name: organization }}
              verb="Create organization token"
              holder={organization}
            />
          )}
          {me && (
            <CreateToken
              operation="POST /users/{user_id}/authentication-tokens"
              path={{ user_id: me.id }}
              verb="Create token"
              dialog="create"
              holder={me.attributes.username}
            />
          )}
        </>
      }
    >
      {errors.map((error) => (
        <ErrorMessage key={String(error)} error={error} />
      ))}
      {!isLoading && <AttentionCounts held={held} total={held.length + leftOut} />}
      {leftOut > 0 && (
        <Alert color="yellow" mb="sm" role="note">
          {counted(leftOut, "token")} {leftOut === 1 ? "is" : "are"} not shown here. See the pages of teams and agent
          pools.
        </Alert>
      )}
      {isLoading && <LoadingRows rows={6} />}
      {!isLoading && held.length === 0 && errors.length === 0 && (
        <Empty title="No tokens yet">
          Create a personal token above, or a team token on the <Link to={paths.teams(organization)}>team's page</Link>.
        </Empty>
      )}
      {!isLoading && held.length > 0 && (
        <TokensTable
          label="Tokens"
          tokens={held.map(({ token }) => token)}
          organization={organization}
          reachable={(token) => byId.get(token.id)?.kind !== "agent pool" && byId.get(token.id)?.kind !== "audit log"}
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

function AttentionCounts({ held, total }: { readonly held: readonly ListedToken[]; readonly total: number }) {
  const now = useNow();
  const tokens = held.map(({ token }) => token);
  const { expiring, neverUsed, unused } = countTokens(tokens, now);
  if (held.length === 0) return null;
  const parts = [
    counted(total, "token"),
    `${figure(expiring)} expiring in ${soonDays} days`,
    `${figure(neverUsed)} never used`,
    ...(unused > 0 ? [`${figure(unused)} not used for ${unusedDays} days`] : []),
  ];
  return (
    <Text mb="sm" c="dimmed" fz="sm" role="status">
      {parts.join(" · ")}
    </Text>
  );
}

function Holder({ organization, held }: { readonly organization: string; readonly held: ListedToken | undefined }) {
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
