/** What one may change of oneself: the name, the address, the password. */
import { Box, PasswordInput, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { account } from "../../api/queries.ts";
import { EmailInput } from "../../ui/inputs.tsx";
import { ActionForm, changesIn, useDraft } from "../../components/forms.tsx";
import { Section } from "../../ui/page.tsx";
import { paths } from "../../paths.ts";
import { useGo } from "../../ui/link.tsx";

export function Profile({ user }: { readonly user: Resource<"users"> }) {
  const { username, email, permissions, "unconfirmed-email": asked } = user.attributes;
  const draft = useDraft({ username, email: email ?? "" });
  const save = useAction("PATCH /account/update", { done: "Saved the profile.", refusal: "form" });
  return (
    <Section title="Profile">
      <Box maw="34rem">
        <ActionForm
          draft={draft}
          action={save}
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
            description={asked ? `A site admin has to confirm the change to ${asked}.` : undefined}
            {...draft.getInputProps("email")}
          />
        </ActionForm>
      </Box>
    </Section>
  );
}

/** A new password ends every session, this one too. */
export function Password() {
  const username = useQuery(account()).data?.data.attributes.username ?? "";
  const go = useGo();
  const client = useQueryClient();
  const draft = useDraft({ current_password: "", password: "", password_confirmation: "" });
  const change = useAction("PATCH /account/password", {
    done: "Password changed. Sign in with the new one.",
    refusal: "form",
    after: () => {
      client.clear();
      go(paths.signIn(paths.account()));
    },
  });
  return (
    <Section title="Password" about="Changing it signs you out everywhere, including here. Your tokens keep working.">
      <Box maw="34rem">
        <ActionForm
          draft={draft}
          action={change}
          verb="Change password"
          isReady={draft.isDirty()}
          input={(attributes) => ({ body: { data: { type: "users", attributes } } })}
        >
          {/* Password managers store the new password under it, and browsers complain where it is missing. */}
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
        </ActionForm>
      </Box>
    </Section>
  );
}
