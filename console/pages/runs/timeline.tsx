/** The timeline of a run, with its comments and a field to add one. */
import { Box, Button, Text, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { includedIn } from "../../api/client.ts";
import { Section } from "../../ui/page.tsx";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { When, sentenceCase } from "../../ui/text.tsx";
import type { RunDetails } from "./status-line.tsx";
import classes from "../../ui/timeline.module.css";
import { runEvents } from "../../api/detail-queries.ts";

export function Timeline({ details: { run } }: { readonly details: RunDetails }) {
  const query = useQuery(runEvents(run.id));
  return (
    <Section title="Timeline">
      <QueryContent query={query} loading={<LoadingRows rows={4} />}>
        {({ data, included }) => (
          <ol className={classes["timeline"]}>
            {data.map(({ id, attributes, relationships }) => {
              const actor = relationships.actor?.data;
              const who = actor && (includedIn({ included }, actor.type, actor.id) as any);
              const comment = includedIn({ included }, "comments", relationships.comment?.data?.id);
              return (
                <li key={id}>
                  <b>{sentenceCase(attributes.action)}</b>
                  {who && <> by {who.attributes.username ?? who.attributes.name}</>}{" "}
                  <Text span c="dimmed" fz="sm">
                    <When time={attributes["created-at"]} />
                  </Text>
                  {attributes.description && (
                    <Text fz="sm" c="dimmed">
                      {attributes.description}
                    </Text>
                  )}
                  {comment && (
                    <Text fz="sm" className={classes["comment"]}>
                      {comment.attributes.body}
                    </Text>
                  )}
                </li>
              );
            })}
          </ol>
        )}
      </QueryContent>
      {run.attributes.permissions["can-comment"] && <Comment runId={run.id} />}
    </Section>
  );
}

function Comment({ runId }: { readonly runId: string }) {
  const [body, setBody] = useState("");
  const action = useAction("POST /runs/{run_id}/comments", { done: "Comment added.", after: () => setBody("") });
  return (
    <Box
      component="form"
      onSubmit={(event) => {
        event.preventDefault();
        action.mutate({ path: { run_id: runId }, body: { data: { type: "comments", attributes: { body } } } });
      }}
    >
      <Textarea
        aria-label="Comment on this run"
        placeholder="Add a comment…"
        autosize
        minRows={1}
        value={body}
        onChange={({ currentTarget }) => setBody(currentTarget.value)}
      />
      {body.trim() !== "" && (
        <Button type="submit" variant="default" mt={6} loading={action.isPending}>
          Comment
        </Button>
      )}
    </Box>
  );
}
