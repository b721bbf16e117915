/** The sign-in page: single sign-on, name and password, or a token. */
import {
  Alert,
  Button,
  Center,
  Divider,
  Paper,
  PasswordInput,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useState } from "react";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { prefix, useGo } from "../../ui/link.tsx";
import { signInOptions } from "../../api/detail-queries.ts";

export default function SignInPage() {
  useDocumentTitle("Sign in to Cadastre");
  const { search } = useAddress();
  const [method, setMethod] = useState("password");
  return (
    <Center mih="80vh" p="md" component="main">
      <Paper withBorder p="xl" w={380}>
        <Stack>
          <Stack gap={2} align="center">
            <img src="/app/icon.svg" width={40} height={40} alt="" />
            <Title order={1}>Sign in to Cadastre</Title>
          </Stack>
          {search["ended"] && (
            <Alert color="yellow" title="Your session has ended" role="status">
              Sign in to continue where you left off.
            </Alert>
          )}
          <SegmentedControl
            aria-label="Sign-in method"
            value={method}
            onChange={setMethod}
            data={[
              { value: "password", label: "Password" },
              { value: "token", label: "Token" },
            ]}
          />
          <Providers to={ownPath(search["return"])} organization={search["organization"]} />
          <SignInForm key={method} method={method} to={ownPath(search["return"])} />
          <Text c="dimmed" fz="xs">
            First time here? The server printed the admin password and token when it first started. Lost them? On the
            server, run <code style={{ whiteSpace: "nowrap" }}>cadastre user set-password admin</code>
          </Text>
        </Stack>
      </Paper>
    </Center>
  );
}

const ownPath = (path: string | undefined) => (path?.startsWith("/") && !path.startsWith("//") ? path : paths.home());

interface ProvidersProps {
  readonly to: string;
  readonly organization: string | undefined;
}

/** The link is a page of the server, not of the console. */
function Providers({ to, organization }: ProvidersProps) {
  const options = useQuery(signInOptions(organization));
  const providers = options.data?.data.attributes.providers ?? [];
  if (providers.length === 0) return null;
  return (
    <>
      {providers.map(({ id, name, url }) => (
        <Button
          key={id}
          component="a"
          href={`${url}?${new URLSearchParams({ return: `${prefix}${to}` })}`}
          variant="default"
          size="sm"
          fullWidth
        >
          Sign in with {name}
        </Button>
      ))}
      <Divider label="or" />
    </>
  );
}

function SignInForm({ method, to }: { readonly method: string; readonly to: string }) {
  const go = useGo();
  const client = useQueryClient();
  const draft = useDraft<Record<string, string>>(method === "token" ? { token: "" } : { username: "", password: "" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /sessions"
      done="Signed in."
      after={() => {
        client.clear();
        go(to, { replace: true });
      }}
      verb="Sign in"
      input={(attributes) => ({ body: { data: { type: "sessions", attributes } } })}
    >
      {method === "token" ? (
        <PasswordInput label="Token" {...draft.getInputProps("token")} autoFocus autoComplete="off" />
      ) : (
        <>
          <TextInput label="Username" {...draft.getInputProps("username")} autoFocus autoComplete="username" />
          <PasswordInput label="Password" {...draft.getInputProps("password")} autoComplete="current-password" />
        </>
      )}
    </OperationForm>
  );
}
