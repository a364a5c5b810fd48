// Exchanges the token behind `#` for a cookie, and removes it from the address and from the history of the browser.
"use strict";
const token = location.hash.slice(1);
if (token) {
  history.replaceState(null, "", location.pathname);
  document.getElementById("token").value = token;
  document.querySelector("form").submit();
}
