// Loads the page again while the log grows. A reader who has zoomed into a chart keeps what is shown.

const RELOAD_MS = 3000;

function isZoomed({ plot, whole }) {
  return plot.scales.x.min > whole[0] || plot.scales.x.max < whole[1];
}

setInterval(() => {
  const charts = window.cradleReport ? window.cradleReport.charts : [];
  if (!document.hidden && !charts.some((chart) => chart.plot && isZoomed(chart))) location.reload();
}, RELOAD_MS);
