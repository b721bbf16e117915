/** A workspace's repository, its events, and why a push did or did not start a run. */
import { Alert, Button, Group, List } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { DescriptionList, Section } from "../../ui/page.tsx";
import { Link } from "../../ui/link.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import { CodeToCopy } from "../../ui/text.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";
import { ConnectForm } from "./connect.tsx";
import { Events } from "./events.tsx";
import { webhookInstructionsOf, repositoryOf } from "./words.ts";
import { repositoryEventsOf } from "../../api/detail-queries.ts";

const liveMs = 5_000;

export default function WorkspaceRepositoryPage() {
  return (
    <WorkspaceFrame>
      {(details) => (
        <>
          <Repository details={details} />
          {details.workspace.attributes.permissions["can-read-run"] && <LastEvents details={details} />}
        </>
      )}
    </WorkspaceFrame>
  );
}

function Repository({ details }: { readonly details: WorkspaceDetails }) {
  const [opened, { open, close }] = useDisclosure();
  const { organization, workspace, etag } = details;
  const { name, permissions: may } = workspace.attributes;
  const repository = repositoryOf(workspace);
  const canChange = may["can-update"] === true;
  const disconnect = useAction("PATCH /workspaces/{workspace_id}", {
    done: `Disconnected ${name} from its repository.`,
  });
  const leave = () =>
    disconnect.mutate({
      path: { workspace_id: workspace.id },
      ifMatch: etag,
      body: { data: { type: "workspaces", attributes: { "vcs-repo": null } } },
    });
  return (
    <Section
      title="Repository"
      actions={
        canChange && (
          <Button variant="default" onClick={open}>
            {repository ? "Change" : "Connect repository"}
          </Button>
        )
      }
    >
      {repository ? (
        <>
          <DescriptionList
            label="Repository details"
            items={{
              Repository: repository.identifier,
              URL: repository["repository-http-url"],
              Branch: repository.branch || "Default branch",
              Tags: repository["tags-regex"] && <code>{repository["tags-regex"]}</code>,
              Submodules: repository["ingress-submodules"] ? "Included" : "Not included",
            }}
          />
          {canChange && repository["webhook-url"] && (
            <Webhook
              organization={organization}
              provider={repository["service-provider"]}
              url={repository["webhook-url"]}
            />
          )}
          {canChange && (
            <Group>
              <DangerButton
                verb="Disconnect"
                title={`Disconnect ${name} from ${repository.identifier}?`}
                isBusy={disconnect.isPending}
                onConfirm={leave}
              >
                Pushes no longer start runs. Runs, states and configurations are kept.
              </DangerButton>
            </Group>
          )}
        </>
      ) : (
        <Empty title="No repository connected">
          With a repository, pushes start runs and pull requests get a plan. Without one, upload configurations with the
          CLI or the API.
        </Empty>
      )}
      <FormDialog opened={opened} onClose={close} title={repository ? "Change repository" : "Connect repository"}>
        <ConnectForm details={details} onClose={close} />
      </FormDialog>
    </Section>
  );
}

interface WebhookProps {
  readonly organization: string;
  readonly provider: string;
  readonly url: string;
}

function Webhook({ organization, provider, url }: WebhookProps) {
  const { location, secret, events } = webhookInstructionsOf(provider);
  return (
    <Alert color="gray" p="sm" title="Webhook" role="note">
      Cadastre creates the webhook at the provider. If the connection's token can't do that, the{" "}
      <Link to={paths.repositoryEvents(organization)} underline="always">
        repository events
      </Link>{" "}
      say so; then create it by hand. {location}, with this URL:
      <CodeToCopy label="Webhook URL" text={url} />
      <List size="sm" mt="xs">
        <List.Item>Content type: application/json</List.Item>
        <List.Item>
          Secret: the connection's webhook secret {secret}. If you don't have it, generate a new one under{" "}
          <Link to={paths.connections(organization)} underline="always">
            Version control
          </Link>
        </List.Item>
        <List.Item>Events: {events}</List.Item>
      </List>
    </Alert>
  );
}

function LastEvents({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const { search } = useAddress();
  const query = useQuery({
    ...repositoryEventsOf(workspace.id, search),
    refetchInterval: liveMs,
  });
  return (
    <Section title="Events" about="Why a push did or did not start a run.">
      <QueryContent query={query}>
        {(response) => <Events organization={organization} response={response} workspace={workspace.attributes.name} />}
      </QueryContent>
    </Section>
  );
}
