/** The tags of a workspace: flat ones and key-value ones, its own and inherited ones. */
import { ActionIcon, Badge, Button, Group, Text, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { apiQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useDraft } from "../../components/forms.tsx";
import { Link } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { Table } from "../../ui/table.tsx";
import { sortProblems } from "../../api/errors.ts";
import type { WorkspaceDetails } from "./details.ts";

export function Tagging({ details }: { readonly details: WorkspaceDetails }) {
  const canChange = details.workspace.attributes.permissions["can-manage-tags"] === true;
  return (
    <>
      <PlainTags details={details} canChange={canChange} />
      <Bindings details={details} canChange={canChange} />
    </>
  );
}

interface TagProps {
  readonly details: WorkspaceDetails;
  readonly canChange: boolean;
}

function PlainTags({ details: { organization, workspace }, canChange }: TagProps) {
  const names = workspace.attributes["tag-names"];
  const path = { workspace_id: workspace.id };
  const draft = useDraft({ name: "" });
  const add = useAction("POST /workspaces/{workspace_id}/relationships/tags", {
    done: (_, { body }) => `Added tag ${body.data[0]?.attributes?.name}.`,
    after: () => draft.reset(),
    refusal: "form",
  });
  const remove = useAction("DELETE /workspaces/{workspace_id}/relationships/tags", {
    done: (_, { body }) => `Removed tag ${body.data[0]?.attributes?.name}.`,
  });
  const bodyOf = (name: string) => ({ path, body: { data: [{ type: "tags" as const, attributes: { name } }] } });
  return (
    <Section title="Tags" about="Use tags to find workspaces, and in cloud blocks that select workspaces by tag.">
      <Group gap={6}>
        {names.length === 0 && <Text c="dimmed">No tags yet.</Text>}
        {names.map((name) => (
          <Badge
            key={name}
            tt="none"
            fw={500}
            color="gray"
            size="lg"
            rightSection={
              canChange && (
                <ActionIcon
                  size="xs"
                  variant="transparent"
                  color="gray"
                  aria-label={`Remove tag ${name}`}
                  onClick={() => remove.mutate(bodyOf(name))}
                >
                  <IconX size={12} />
                </ActionIcon>
              )
            }
          >
            <Link to={paths.workspaces(organization, { tags: name })} c="inherit">
              {name}
            </Link>
          </Badge>
        ))}
      </Group>
      {canChange && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            add.mutate(bodyOf(draft.values.name), {
              onError: (error) => draft.setErrors({ name: sortProblems(error, []).rest.join(" ") }),
            });
          }}
        >
          <Group gap="xs" align="flex-start">
            <TextInput aria-label="New tag" placeholder="production" w={220} {...draft.getInputProps("name")} />
            <Button type="submit" variant="default" loading={add.isPending} h={36}>
              Add tag
            </Button>
          </Group>
        </form>
      )}
    </Section>
  );
}

function Bindings({ details: { organization, workspace }, canChange }: TagProps) {
  const path = { workspace_id: workspace.id };
  const query = useQuery(apiQuery("GET /workspaces/{workspace_id}/effective-tag-bindings", { path }));
  return (
    <Section
      title="Key-value tags"
      about="The workspace's own tags override inherited ones, unless a reserved key prevents that."
    >
      <QueryContent query={query} loading={<LoadingRows rows={3} />}>
        {({ data }) => (
          <>
            {data.length === 0 && <Text c="dimmed">No key-value tags yet.</Text>}
            {data.length > 0 && (
              <Table
                label="Key-value tags"
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  { title: "Key", cell: ({ attributes }) => <span className="mono">{attributes.key}</span> },
                  { title: "Value", cell: ({ attributes }) => <span className="mono">{attributes.value}</span> },
                  {
                    title: "Source",
                    cell: (binding) =>
                      isInherited(binding) ? (
                        <Link to={paths.project(organization, workspace.relationships.project?.data?.id ?? "")}>
                          Project
                        </Link>
                      ) : (
                        "Workspace"
                      ),
                  },
                  {
                    title: "",
                    width: 90,
                    cell: (binding) =>
                      canChange &&
                      !isInherited(binding) && (
                        <RemoveBinding workspaceId={workspace.id} binding={binding} all={data} />
                      ),
                  },
                ]}
              />
            )}
          </>
        )}
      </QueryContent>
      {canChange && <AddBinding workspaceId={workspace.id} />}
    </Section>
  );
}

type EffectiveTagBinding = Resource<"effective-tag-bindings">;
const isInherited = ({ links }: EffectiveTagBinding) => links?.["inherited-from"] !== undefined;

function AddBinding({ workspaceId }: { readonly workspaceId: string }) {
  const draft = useDraft({ key: "", value: "" });
  const action = useAction("PATCH /workspaces/{workspace_id}/tag-bindings", {
    done: (_, { body }) => `Saved tag ${body.data[0]?.attributes.key}.`,
    after: () => draft.reset(),
    refusal: "form",
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        action.mutate(
          {
            path: { workspace_id: workspaceId },
            body: { data: [{ type: "tag-bindings", attributes: draft.values }] },
          },
          { onError: (error) => draft.setErrors({ key: sortProblems(error, []).rest.join(" ") }) },
        );
      }}
    >
      <Group gap="xs" align="flex-start">
        <TextInput aria-label="Key" placeholder="key" w={180} {...draft.getInputProps("key")} />
        <TextInput aria-label="Value" placeholder="value" w={180} {...draft.getInputProps("value")} />
        <Button type="submit" variant="default" loading={action.isPending} h={36}>
          Save tag
        </Button>
      </Group>
    </form>
  );
}

interface RemoveBindingProps {
  readonly workspaceId: string;
  readonly binding: EffectiveTagBinding;
  readonly all: readonly EffectiveTagBinding[];
}

/** Inherited tags must not be sent. */
function RemoveBinding({ workspaceId, binding, all }: RemoveBindingProps) {
  const { key } = binding.attributes;
  const action = useAction("PATCH /workspaces/{workspace_id}", { done: `Removed tag ${key}.` });
  const rest = all.filter((each) => each.id !== binding.id && !isInherited(each));
  const data = rest.map(({ attributes }): any => ({ type: "tag-bindings", attributes }));
  return (
    <Button
      variant="subtle"
      color="red"
      size="compact-xs"
      aria-label={`Remove ${key}`}
      onClick={() =>
        action.mutate({
          path: { workspace_id: workspaceId },
          // The OpenAPI document's relationship type omits the attributes of tag bindings.
          body: { data: { type: "workspaces", relationships: { "tag-bindings": { data } } } },
        })
      }
    >
      Remove
    </Button>
  );
}
