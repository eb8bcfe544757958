import "../src/without-eval.ts";
import "../src/styles/mantine.ts";
import "../src/styles/berth.css";
import { Notifications } from "@mantine/notifications";
import type { ReactNode } from "react";
import { draw } from "../src/parts/draw.tsx";
import Editor from "../src/parts/editor.tsx";
import { LogViewer } from "../src/parts/log-viewer.tsx";
import { ChangeForm, CreateForm, forms } from "./forms.tsx";
import { log } from "./log.ts";

/** The component that the address names, alone on a page. Tests pass it data, and read what it reported, by `component`. */
const name = new URLSearchParams(location.search).get("name") ?? "";
const texts: string[] = [];
const COMPONENTS: Readonly<Record<string, ReactNode>> = {
  "log-viewer": <LogViewer lines={log.lines} label="api log" empty="Nothing was printed yet." />,
  editor: (
    <>
      <button type="button">Before</button>
      <Editor
        label="Compose file"
        text={"services:\n  web:\n    image: nginx\n"}
        onChange={(text) => texts.push(text)}
      />
      <button type="button">After</button>
    </>
  ),
  "change-form": <ChangeForm />,
  "create-form": <CreateForm />,
};

Object.assign(window, { component: { log, forms, texts } });
draw(
  <>
    <Notifications />
    <main>{COMPONENTS[name]}</main>
  </>,
);
