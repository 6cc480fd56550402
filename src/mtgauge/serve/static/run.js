// One run: progress while it goes on, then the page is loaded again with its report.
import { $, alarm, ask } from "/static/page.js";

const { run, state } = document.body.dataset;

if (state === "waiting" || state === "running") {
  const events = new EventSource(`/runs/${run}/events`);
  events.onmessage = (event) => {
    const news = JSON.parse(event.data);
    if (!["waiting", "running"].includes(news.state)) {
      events.close();
      location.reload();
      return;
    }
    show(news);
  };
  events.onerror = () => { $("detail").textContent = "Waiting for the server to answer..."; };
  $("cancel").addEventListener("click", () => act("POST", `/runs/${run}/cancel`));
}

function show(news) {
  const bar = $("bar");
  const stage = news.stage || "starting";
  $("progress-title").textContent = news.state === "waiting"
    ? "Waiting for its turn"
    : stage[0].toUpperCase() + stage.slice(1);
  if (news.state === "running" && news.total && news.done) {
    bar.value = news.done / news.total;
    const count = (n) => n.toLocaleString();
    $("detail").textContent = `${count(news.done)} of ${count(news.total)} segments`;
  } else {
    bar.removeAttribute("value");
    $("detail").textContent = news.total ? `${news.total.toLocaleString()} segments` : "\u00a0";
  }
}

$("delete")?.addEventListener("click", async () => {
  if (confirm("Delete this run and its report?") && await act("DELETE", `/runs/${run}`)) {
    location.assign("/#earlier");
  }
});

async function act(method, address) {
  try {
    await ask(address, { method });
    return true;
  } catch (error) {
    alarm(error.message);
    return false;
  }
}
