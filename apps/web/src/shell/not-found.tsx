import { TextLink } from "../parts/link.tsx";
import { Empty } from "../parts/page.tsx";

export const NotFound = () => (
  <Empty title="This page does not exist" action={<TextLink to="/">To the overview</TextLink>}>
    The address may be mistyped, or what it showed was deleted.
  </Empty>
);
