/// Pages behind links in mails: the browser has no keys, but a token from the link.
extension Route {
    static let pages: [Route] = [
        page(.get, "/apps/{applicationId}/verify_email", "verifyEmail", "Proves an address."),
        page(
            .post, "/apps/{applicationId}/resend_verification_email", "resendVerificationEmail",
            "Sends that mail again."),
        page(.get, "/apps/{applicationId}/request_password_reset", "openPasswordReset", "The form for a new password."),
        page(.post, "/apps/{applicationId}/request_password_reset", "resetPassword", "Sets a new password."),
        page(.get, "/apps/choose_password", "openChoosePassword", "The form for a new password."),
        page(.post, "/apps/choose_password", "choosePassword", "Sets a new password."),
    ]

    private static func page(_ method: ParseRequest.Method, _ path: String, _ id: String, _ summary: String) -> Route {
        Route(method, path, .pages, id, summary, access: .anyone) { await $0.controllers.pages.answer($0.request) }
    }
}
