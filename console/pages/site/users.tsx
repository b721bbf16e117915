/** All users of the site. */
import { Badge, Button, Checkbox, Group, PasswordInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { account } from "../../api/queries.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { EmailInput } from "../../ui/inputs.tsx";
import { ActionForm, useDraft } from "../../components/forms.tsx";
import { LinkOnce } from "../../ui/secret.tsx";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { When } from "../../ui/text.tsx";
import { SiteFrame } from "./frame.tsx";
import { siteUsers } from "../../api/list-queries.ts";
import { useAddress } from "../../ui/address.ts";

type User = Resource<"users">;

export default function SiteUsersPage() {
  const [edited, setEdited] = useState<User | "new">();
  const close = () => setEdited(undefined);
  const { search } = useAddress();
  const me = useQuery(account()).data?.data.id;
  const query = useQuery(siteUsers(search));
  return (
    <SiteFrame actions={<Button onClick={() => setEdited("new")}>New user</Button>}>
      <List
        one="user"
        label="Users"
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title="No users" />}
        columns={() => [
          {
            title: "Username",
            cell: ({ attributes }) => (
              <Group gap="xs">
                {attributes.username || attributes.email}
                {!attributes.username && <Badge color="yellow">invited</Badge>}
                {attributes["is-site-admin"] && <Badge>site admin</Badge>}
              </Group>
            ),
          },
          {
            title: "Email",
            isExtra: true,
            cell: ({ attributes }) => (
              <>
                {attributes.email}
                {attributes["unconfirmed-email"] && ` (requested change: ${attributes["unconfirmed-email"]})`}
              </>
            ),
          },
          { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
          {
            title: "Actions",
            width: 1,
            cell: (user) => (
              <Group gap={4} wrap="nowrap" justify="flex-end">
                <Button
                  variant="subtle"
                  size="compact-xs"
                  onClick={() => setEdited(user)}
                  aria-label={`Edit ${user.attributes.username || user.attributes.email}`}
                >
                  Edit
                </Button>
                {user.id !== me && <PasswordLink user={user} />}
                {user.id !== me && <Delete user={user} />}
              </Group>
            ),
          },
        ]}
      />
      <FormDialog
        opened={edited !== undefined}
        onClose={close}
        title={edited === "new" ? "New user" : `Edit ${edited?.attributes.username}`}
      >
        {edited !== undefined && <UserForm user={edited === "new" ? undefined : edited} onClose={close} />}
      </FormDialog>
    </SiteFrame>
  );
}

/** Only for users without a password; others get a new one by editing. */
function PasswordLink({ user: { id, attributes } }: { readonly user: User }) {
  const name = attributes.username || attributes.email;
  const [link, setLink] = useState<string>();
  const make = useAction("POST /admin/users/{user_id}/invitation", {
    done: `Created a password link for ${name}. Earlier links no longer work.`,
    after: ({ data }) => setLink(data.attributes["invitation-url"]),
  });
  return (
    <LinkOnce
      verb="Password link"
      label={`Password link for ${name}`}
      title={`Password link for ${name}`}
      what="Password link"
      link={link}
      isBusy={make.isPending}
      onMake={() => make.mutate({ path: { user_id: id } })}
      onClose={() => setLink(undefined)}
    >
      Send it to {name}. Anyone who opens it within 7 days can set the password.
    </LinkOnce>
  );
}

function Delete({ user: { id, attributes } }: { readonly user: User }) {
  const name = attributes.username || attributes.email;
  const remove = useAction("DELETE /admin/users/{user_id}", { done: `Deleted ${name}.` });
  return (
    <DangerButton
      isQuiet
      verb="Delete"
      label={`Delete ${name}`}
      title={`Delete ${name}?`}
      typed={name}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { user_id: id } })}
    >
      This removes {name} from every organization and team and revokes all their sessions and tokens. Audit logs keep
      what they did.
    </DangerButton>
  );
}

function UserForm({ user, onClose }: { readonly user: User | undefined; readonly onClose: () => void }) {
  const known = user?.attributes;
  const draft = useDraft({
    username: known?.username ?? "",
    email: known?.["unconfirmed-email"] ?? known?.email ?? "",
    password: "",
    "is-site-admin": known?.["is-site-admin"] ?? false,
  });
  const options = { refusal: "form", after: onClose } as const;
  const create = useAction("POST /admin/users", { ...options, done: "Created the user." });
  const update = useAction("PATCH /admin/users/{user_id}", { ...options, done: "Saved the user." });
  const bodyOf = ({ password, ...rest }: ReturnType<typeof draft.getValues>) => ({
    data: { type: "users" as const, attributes: { ...rest, ...(password !== "" && { password }) } },
  });
  const fields = (
    <>
      <TextInput label="Username" {...draft.getInputProps("username")} data-autofocus />
      <EmailInput {...draft.getInputProps("email")} />
      <PasswordInput
        label="Password"
        description={
          user
            ? "Leave empty to keep the current one. A new password ends all their sessions."
            : "Leave empty to send a password link later, or if they use single sign-on."
        }
        autoComplete="new-password"
        {...draft.getInputProps("password")}
      />
      <Checkbox
        label="Site admin"
        description="Has owner access to every organization, and manages users and the site."
        {...draft.getInputProps("is-site-admin", { type: "checkbox" })}
      />
    </>
  );
  return user ? (
    <ActionForm
      draft={draft}
      action={update}
      verb="Save"
      onCancel={onClose}
      input={(values) => ({ path: { user_id: user.id }, body: bodyOf(values) })}
    >
      {fields}
    </ActionForm>
  ) : (
    <ActionForm
      draft={draft}
      action={create}
      verb="Create user"
      onCancel={onClose}
      input={(values) => ({ body: bodyOf(values) })}
    >
      {fields}
    </ActionForm>
  );
}
