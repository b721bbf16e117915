/** A person's locks and tokens. */
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../api/actions.ts";
import type { Resource } from "../api/client.ts";
import type { Person } from "../api/detail-queries.ts";
import { account } from "../api/queries.ts";
import { paths } from "../paths.ts";
import { DangerButton } from "../ui/dialog.tsx";
import { Expires, When } from "../ui/text.tsx";
import { Link } from "../ui/link.tsx";
import { Section } from "../ui/page.tsx";
import { QueryContent, LoadingRows } from "../components/states.tsx";
import { Table } from "../ui/table.tsx";
import { workspaceColumn } from "../components/list.tsx";
import { lockedWorkspaces, tokensOfUser } from "../api/detail-queries.ts";

export interface OffboardingProps {
  readonly organization: string;
  readonly user: Person;
}

export function Locks({ organization, user }: OffboardingProps) {
  const query = useQuery(lockedWorkspaces(organization));
  const unlock = useAction("POST /workspaces/{workspace_id}/actions/force-unlock", {
    done: ({ data }) => `Force-unlocked ${(data as Resource<"workspaces">).attributes.name}.`,
  });
  const held = query.data?.data.filter(
    ({ relationships }) => (relationships["locked-by"]?.data as { id?: string } | null | undefined)?.id === user.id,
  );
  return (
    <Section title="Locks held" about="A lock stays when its holder leaves. A workspace admin can force-unlock it.">
      <QueryContent query={query} loading={<LoadingRows rows={2} />}>
        {() =>
          held?.length ? (
            <Table
              label="Locks held"
              rows={held}
              keyOf={({ id }) => id}
              columns={[
                workspaceColumn(organization),
                { title: "Reason", cell: ({ attributes }) => attributes["locked-reason"] ?? "–" },
                { title: "Locked", isExtra: true, cell: ({ attributes }) => <When time={attributes["locked-at"]} /> },
                { title: "Expires", cell: ({ attributes }) => <Expires time={attributes["lock-expires-at"]} /> },
                {
                  title: "Actions",
                  width: 160,
                  cell: ({ id, attributes: { name, permissions } }) =>
                    permissions?.["can-force-unlock"] ? (
                      <DangerButton
                        isQuiet
                        verb="Force-unlock"
                        label={`Force-unlock ${name}`}
                        title={`Force-unlock ${name}?`}
                        onConfirm={() => unlock.mutate({ path: { workspace_id: id } })}
                      >
                        The unfinished work of {user.name} is abandoned and any state still being uploaded is rejected.
                      </DangerButton>
                    ) : (
                      "–"
                    ),
                },
              ]}
            />
          ) : (
            <Text c="dimmed">No locks that you can see.</Text>
          )
        }
      </QueryContent>
    </Section>
  );
}

/** Only the person and site admins can see a person's tokens. */
export function Tokens({ organization, user }: OffboardingProps) {
  const me = useQuery(account()).data?.data;
  const canAsk = me !== undefined && (me.id === user.id || me.attributes["is-site-admin"]);
  const query = useQuery({
    ...tokensOfUser(user.id),
    enabled: canAsk,
  });
  const revoke = useAction("DELETE /authentication-tokens/{token_id}", { done: "Revoked the token." });
  return (
    <Section title="Tokens">
      {!canAsk && (
        <Text c="dimmed">
          Only {user.name} and site admins can see these tokens. They stop working here when {user.name} is removed from
          the organization. Team tokens that {user.name} knows keep working: rotate them.
        </Text>
      )}
      {canAsk && (
        <QueryContent query={query} loading={<LoadingRows rows={2} />}>
          {({ data }) =>
            data.length === 0 ? (
              <Text c="dimmed">No tokens.</Text>
            ) : (
              <Table
                label="Tokens"
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    title: "Token",
                    cell: ({ id, attributes }) => (
                      <Link to={paths.tokenReach(organization, id)}>{attributes.description || id}</Link>
                    ),
                  },
                  {
                    title: "Last used",
                    cell: ({ attributes }) => <When time={attributes["last-used-at"]} none="never" />,
                  },
                  {
                    title: "Expires",
                    cell: ({ attributes }) => <Expires time={attributes["expired-at"]} />,
                    isExtra: true,
                  },
                  {
                    title: "Actions",
                    width: 160,
                    cell: ({ id, attributes }) => (
                      <DangerButton
                        isQuiet
                        verb="Revoke"
                        label={`Revoke ${attributes.description || id}`}
                        title={`Revoke ${attributes.description || id}?`}
                        onConfirm={() => revoke.mutate({ path: { token_id: id } })}
                      >
                        Everything that uses this token stops working immediately. You can't undo this.
                      </DangerButton>
                    ),
                  },
                ]}
              />
            )
          }
        </QueryContent>
      )}
    </Section>
  );
}
