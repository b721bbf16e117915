/** What happened to a run, in its order, with what people said; and a word of one's own. */
import { Box, Button, Text, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { includedIn } from "../../api/client.ts";
import { askingOn } from "../../api/queries.ts";
import { Section } from "../../ui/page.tsx";
import { Asked, LoadingRows } from "../../ui/states.tsx";
import { When } from "../../ui/text.tsx";
import type { RunPlace } from "./place.ts";
import classes from "./timeline.module.css";

export function Timeline({ place: { run }, isLive }: { readonly place: RunPlace; readonly isLive: boolean }) {
  const query = useQuery({
    ...askingOn("GET /runs/{run_id}/run-events", { path: { run_id: run.id }, query: { include: "actor,comment" } }),
    refetchInterval: isLive ? 2_000 : false,
  });
  return (
    <Section title="What happened">
      <Asked query={query} loading={<LoadingRows rows={4} />}>
        {({ data, included }) => (
          <ol className={classes["timeline"]}>
            {data.map(({ id, attributes, relationships }) => {
              const actor = relationships.actor?.data;
              const who = actor && (includedIn({ included }, actor.type, actor.id) as any);
              const comment = includedIn({ included }, "comments", relationships.comment?.data?.id);
              return (
                <li key={id}>
                  <b>{attributes.action.replaceAll("_", " ")}</b>
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
      </Asked>
      {run.attributes.permissions["can-comment"] && <Comment runId={run.id} />}
    </Section>
  );
}

function Comment({ runId }: { readonly runId: string }) {
  const [body, setBody] = useState("");
  const action = useAction("POST /runs/{run_id}/comments", { done: "Said.", after: () => setBody("") });
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
        placeholder="Say something about this run…"
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
