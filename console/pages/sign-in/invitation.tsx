/** Accepts an invitation link, as a new or as an existing user. */
import { Button, Center, Paper, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAction } from "../../api/actions.ts";
import { call, type OperationResponse } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { Expires } from "../../ui/text.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { LinkButton, useGo } from "../../ui/link.tsx";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { invitation as invitationQuery } from "../../api/detail-queries.ts";

type Invitation = OperationResponse<"GET /invitations/{invitation_secret}">["data"];

interface InvitationProps {
  readonly secret: string;
  readonly invitation: Invitation;
}

export default function InvitationPage() {
  useDocumentTitle("Welcome to Cadastre");
  const { secret: rest } = useParams({ from: "/outside/invitations/cadastre-{$secret}" });
  const secret = `cadastre-${rest}`;
  const query = useQuery(invitationQuery(secret));
  return (
    <Center mih="80vh" p="md" component="main">
      <Paper withBorder p="xl" w={420} maw="100%">
        <Stack>
          <Stack gap={2} align="center">
            <img src="/app/icon.svg" width={40} height={40} alt="" />
            <Title order={1}>Welcome to Cadastre</Title>
          </Stack>
          <QueryContent query={query} loading={<LoadingRows rows={3} />}>
            {({ data }) => <Welcome secret={secret} invitation={data} />}
          </QueryContent>
        </Stack>
      </Paper>
    </Center>
  );
}

const organizationOf = ({ relationships }: Invitation): string | undefined => relationships.organization?.data?.id;

function Welcome({ secret, invitation }: InvitationProps) {
  const organization = organizationOf(invitation);
  const { email, "has-password": hasPassword, "expires-at": ends } = invitation.attributes;
  // A 401 is a valid response here: it must not redirect.
  const me = useQuery({
    queryKey: ["who is signed in"],
    queryFn: () => call("GET /account/details", {}).catch(() => null),
  });
  const name = me.data?.data.attributes.username;
  return (
    <>
      <Text>
        {organization ? (
          <>
            <b>{email}</b> is invited to join <b>{organization}</b>.
          </>
        ) : (
          <>
            Choose a password for <b>{invitation.attributes.username ?? email}</b>.
          </>
        )}{" "}
        This link can be used once and <Expires time={ends} isSentence />.
      </Text>
      {me.isLoading && <LoadingRows rows={2} />}
      {organization && name && <Accept secret={secret} organization={organization} name={name} />}
      {me.isSuccess && !name && hasPassword && (
        <LinkButton to={paths.signIn(paths.invitation(secret))}>Sign in to accept</LinkButton>
      )}
      {me.isSuccess && !name && !hasPassword && <Register secret={secret} invitation={invitation} />}
    </>
  );
}

interface AcceptProps {
  readonly secret: string;
  readonly organization: string;
  readonly name: string;
}

function Accept({ secret, organization, name }: AcceptProps) {
  const go = useGo();
  const accept = useAction("POST /invitations/{invitation_secret}/actions/accept", {
    done: `You joined ${organization}.`,
    after: () => go(paths.organization(organization), { replace: true }),
  });
  return (
    <Button loading={accept.isPending} onClick={() => accept.mutate({ path: { invitation_secret: secret } })}>
      Join {organization} as {name}
    </Button>
  );
}

function Register({ secret, invitation }: InvitationProps) {
  const go = useGo();
  const client = useQueryClient();
  const known = invitation.attributes.username;
  const organization = organizationOf(invitation);
  const draft = useDraft({ username: known ?? "", password: "" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /invitations/{invitation_secret}/actions/register"
      done={known === null ? "Account created. You are signed in." : "Password set. You are signed in."}
      after={() => {
        client.clear();
        go(organization ? paths.organization(organization) : paths.home(), { replace: true });
      }}
      verb={known === null ? "Create account" : "Set password"}
      input={({ username, password }) => ({
        path: { invitation_secret: secret },
        body: { data: { type: "invitations", attributes: { password, ...(known === null && { username }) } } },
      })}
    >
      <TextInput
        label="Username"
        description="You sign in with it, and others see it."
        autoComplete="username"
        disabled={known !== null}
        {...draft.getInputProps("username")}
        autoFocus
      />
      <PasswordInput label="Password" autoComplete="new-password" {...draft.getInputProps("password")} />
    </OperationForm>
  );
}
