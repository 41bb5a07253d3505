"""Flows of the team and of the operator's own account."""
from playwright.sync_api import expect

from dashboard import enter, flow, in_both_schemes, step, toast


@flow
def inviting(visit, given):
    """An admin invites `address`; the invitation is in the list and is sent again and revoked."""
    page, address = visit.page, given["address"]
    enter(visit, given, "/dashboard/team")
    page.get_by_role("button", name="Invite", exact=True).click()
    page.get_by_label("E-mail address").fill(address)
    page.get_by_label("Role").select_option(label="Order desk")
    in_both_schemes(page, "dialog of an invitation")
    page.get_by_role("button", name="Send the invitation").click()
    toast(page, f"An invitation was sent to {address}.")
    row = page.get_by_role("row").filter(has_text=address)
    expect(row).to_contain_text("Order desk")
    row.get_by_role("button", name="Send again").click()
    toast(page, f"An invitation was sent to {address}.")
    row.get_by_role("button", name="Revoke").click()
    toast(page, f"The invitation of {address} was revoked.")
    expect(row).to_have_count(0)


@flow
def joining(visit, given):
    """The link of an invitation leads to the dashboard; the operator then changes the password and is not signed out."""
    page = visit.page
    visit.open(f"/dashboard/invitation#{given['token']}")
    page.get_by_label("Your name").fill("Ben Long")
    page.get_by_label("Password", exact=True).fill("chosen-here")
    page.get_by_label("The same password again").fill("chosen-otherwise")
    page.get_by_role("button", name="Join the team").click()
    expect(page.get_by_role("alert").filter(has_text="not the same")).to_be_visible()
    in_both_schemes(page, "invitation")
    page.get_by_label("The same password again").fill("chosen-here")
    page.get_by_role("button", name="Join the team").click()
    toast(page, "You belong to the team now")
    step(given["token"] not in page.url, "The token stayed in the address.")
    expect(page.get_by_label("E-mail or user name")).to_have_value(given["address"])
    page.get_by_label("Password").fill("chosen-here")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="My account").click()
    expect(page.get_by_role("heading", name="My account")).to_be_visible()
    page.get_by_role("button", name="Change password").click()
    page.get_by_label("Current password").fill("chosen-here")
    page.get_by_label("New password", exact=True).fill("chosen-again")
    page.get_by_label("The new password again").fill("chosen-again")
    page.get_by_role("button", name="Save").click()
    toast(page, "The password was changed.")
    page.get_by_role("button", name="Set up").click()
    link = page.get_by_role("link", name="Open it in an authenticator app").get_attribute("href")
    step(link.startswith("otpauth://totp/") and "&issuer=" in link, f"The link of the second factor is {link}.")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Orders").first.click()
    expect(page.get_by_role("heading", name="Orders")).to_be_visible()


@flow
def forgotten(visit, given):
    """The sign-in page asks for the mail with a link to a new password, with the same answer for every address."""
    page = visit.page
    visit.open("/dashboard")
    page.get_by_label("E-mail or user name").fill(given["address"])
    page.get_by_role("button", name="Forgot your password?").click()
    expect(page.get_by_label("E-mail address")).to_have_value(given["address"])
    in_both_schemes(page, "forgotten password")
    page.get_by_role("button", name="Send the link").click()
    toast(page, "If an account has this address")
