/** The caller's account: name and email, password, tokens and sessions. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { account } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page, Section } from "../../ui/page.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import { CreateToken } from "../tokens/create-token.tsx";
import { TokensTable } from "../tokens/table.tsx";
import { tokensOfUser, sessions as sessionsQuery } from "../../api/detail-queries.ts";
import { Badge, Group, Box, PasswordInput, TextInput } from "@mantine/core";
import { useAction } from "../../api/actions.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { Expires, When } from "../../ui/text.tsx";
import { Table } from "../../ui/table.tsx";
import { leave } from "./menu.tsx";
import type { Resource } from "../../api/client.ts";
import { EmailInput } from "../../ui/inputs.tsx";
import { OperationForm, changesIn, useDraft } from "../../components/forms.tsx";
import { useGo } from "../../ui/link.tsx";

export default function AccountPage() {
  const me = useQuery(account());
  return (
    <Page title="Account" crumbs={[{ label: "Organizations", to: paths.home() }]}>
      <QueryContent query={me}>
        {({ data, etag }) => (
          <>
            <Profile key={etag} user={data} />
            <Tokens userId={data.id} name={data.attributes.username} />
            <Sessions />
            <Password />
          </>
        )}
      </QueryContent>
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
        <CreateToken
          operation="POST /users/{user_id}/authentication-tokens"
          path={{ user_id: userId }}
          verb="Create token"
          holder={name}
        />
      }
    >
      <QueryContent query={tokens}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No tokens yet">Create one for Terraform, OpenTofu or a script that calls the API.</Empty>
          ) : (
            <TokensTable label="Your tokens" tokens={data} />
          )
        }
      </QueryContent>
    </Section>
  );
}

export function Sessions() {
  const sessions = useQuery(sessionsQuery());
  const end = useAction("DELETE /sessions/{session_id}", { done: "Session ended." });
  const endAll = useAction("DELETE /sessions", { done: "Signed out everywhere.", after: leave });
  return (
    <Section
      title="Sessions"
      about="Browsers in which you are signed in."
      actions={
        <DangerButton
          verb="Sign out everywhere"
          title="Sign out everywhere?"
          onConfirm={() => endAll.mutate({})}
          isBusy={endAll.isPending}
        >
          This ends all your sessions, including this one. Your tokens keep working.
        </DangerButton>
      }
    >
      <QueryContent query={sessions}>
        {({ data }) => (
          <Table
            label="Your sessions"
            rows={data}
            keyOf={({ id }) => id}
            columns={[
              {
                title: "Browser",
                cell: ({ attributes }) => (
                  <Group gap="xs">
                    <span title={attributes["user-agent"] ?? undefined}>{browserIn(attributes["user-agent"])}</span>
                    {attributes.current && <Badge>this browser</Badge>}
                  </Group>
                ),
              },
              {
                title: "Last used",
                cell: ({ attributes }) => <When time={attributes["last-used-at"]} none="just now" />,
              },
              { title: "Signed in", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
              {
                title: "Expires",
                isExtra: true,
                cell: ({ attributes }) => <Expires time={attributes["expires-at"]} />,
              },
              {
                title: "Actions",
                width: 1,
                cell: ({ id, attributes }) =>
                  !attributes.current && (
                    <DangerButton
                      isQuiet
                      verb="End session"
                      label={`End session of ${browserIn(attributes["user-agent"])}`}
                      title="End this session?"
                      onConfirm={() => end.mutate({ path: { session_id: id } })}
                    >
                      That browser has to sign in again.
                    </DangerButton>
                  ),
              },
            ]}
          />
        )}
      </QueryContent>
    </Section>
  );
}

const browsers = ["Edg", "OPR", "Firefox", "Chrome", "Safari"];
const systems = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"];

function browserIn(agent: string | null): string {
  if (agent === null) return "Unknown browser";
  const browser = browsers.find((name) => agent.includes(name));
  const system = systems.find((name) => agent.includes(name));
  return browser === undefined ? agent : [browser, system && `on ${system}`].filter(Boolean).join(" ");
}

export function Profile({ user }: { readonly user: Resource<"users"> }) {
  const { username, email, permissions, "unconfirmed-email": unconfirmedEmail } = user.attributes;
  const draft = useDraft({ username, email: email ?? "" });
  return (
    <Section title="Profile">
      <Box maw="34rem">
        <OperationForm
          draft={draft}
          operation="PATCH /account/update"
          done="Saved the profile."
          verb="Save"
          isReady={draft.isDirty()}
          input={() => ({ body: { data: { type: "users", attributes: changesIn(draft) } } })}
        >
          <TextInput
            label="Username"
            autoComplete="username"
            disabled={!permissions["can-change-username"]}
            {...draft.getInputProps("username")}
          />
          <EmailInput
            autoComplete="email"
            disabled={!permissions["can-change-email"]}
            description={unconfirmedEmail ? `A site admin must confirm the change to ${unconfirmedEmail}.` : undefined}
            {...draft.getInputProps("email")}
          />
        </OperationForm>
      </Box>
    </Section>
  );
}

/** A new password ends every session, also this one. */
export function Password() {
  const username = useQuery(account()).data?.data.attributes.username ?? "";
  const go = useGo();
  const client = useQueryClient();
  const draft = useDraft({ current_password: "", password: "", password_confirmation: "" });
  return (
    <Section title="Password" about="Changing it signs you out everywhere, including here. Your tokens keep working.">
      <Box maw="34rem">
        <OperationForm
          draft={draft}
          operation="PATCH /account/password"
          done="Password changed. Sign in with the new one."
          after={() => {
            client.clear();
            go(paths.signIn(paths.account()));
          }}
          verb="Change password"
          isReady={draft.isDirty()}
          input={(attributes) => ({ body: { data: { type: "users", attributes } } })}
        >
          {/* Password managers store the new password under this name, and browsers warn if it is missing. */}
          <input type="text" autoComplete="username" value={username} readOnly hidden />
          <PasswordInput
            label="Current password"
            description="Leave empty if you don't have one yet."
            autoComplete="current-password"
            {...draft.getInputProps("current_password")}
          />
          <PasswordInput label="New password" autoComplete="new-password" {...draft.getInputProps("password")} />
          <PasswordInput
            label="Confirm new password"
            autoComplete="new-password"
            {...draft.getInputProps("password_confirmation")}
          />
        </OperationForm>
      </Box>
    </Section>
  );
}
