/** The projects of an organization. */
import { Button, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress, useOpened } from "../../ui/address.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../components/states.tsx";
import { figure, When } from "../../ui/text.tsx";
import { projects } from "../../api/list-queries.ts";

export default function ProjectsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [opened, { open, close }] = useOpened("create");
  const { search } = useAddress();
  const sort = useAddress().search["sort"] ?? "name";
  const rights = useRights(organization);
  const query = useQuery(projects(organization, search));
  return (
    <Page
      title="Projects"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      actions={rights?.["can-create-project"] && <Button onClick={open}>New project</Button>}
    >
      <List
        one="project"
        label="Projects"
        query={query}
        keyOf={({ id }) => id}
        sort={sort}
        empty={<Empty title="No projects yet">Create a project, or ask an owner for access to one.</Empty>}
        columns={() => [
          {
            title: "Name",
            sort: "name",
            cell: ({ id, attributes }) => <Link to={paths.project(organization, id)}>{attributes.name}</Link>,
          },
          { title: "Description", isExtra: true, cell: ({ attributes }) => attributes.description },
          {
            title: "Workspaces",
            isFigure: true,
            cell: ({ id, attributes }) => (
              <Link to={paths.workspaces(organization, { project: id })} c="inherit">
                {figure(attributes["workspace-count"])}
              </Link>
            ),
          },
          {
            title: "Teams",
            isFigure: true,
            cell: ({ id, attributes }) => (
              <Link to={paths.projectAccess(organization, id)} c="inherit">
                {figure(attributes["team-count"])}
              </Link>
            ),
          },
          { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
        ]}
      />
      <FormDialog opened={opened} onClose={close} title="New project">
        <NewProject organization={organization} onClose={close} />
      </FormDialog>
    </Page>
  );
}

function NewProject({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const go = useGo();
  const draft = useDraft({ name: "", description: "" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/projects"
      done={({ data }) => `Created project ${data.attributes.name}.`}
      after={({ data }) => {
        onClose();
        go(paths.project(organization, data.id));
      }}
      verb="Create project"
      onCancel={onClose}
      input={(attributes) => ({
        path: { organization_name: organization },
        body: { data: { type: "projects", attributes } },
      })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} data-autofocus />
      <Textarea label="Description" autosize minRows={2} {...draft.getInputProps("description")} />
    </OperationForm>
  );
}
