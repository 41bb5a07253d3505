import ProcessKit
import Testing

/// The settings that operators see: everything that the process read, without secrets.
@Suite struct EffectiveSettingTests {
    @Test func whatWasAskedForIsShownWithWhereItComesFrom() throws {
        let settings = Settings(["SATCHEL_PORT": "8080", "SATCHEL_NEVER_ASKED": "x"])
        _ = try settings.number("satchel.port", 1...65_535, default: 1337)
        _ = try settings.number("satchel.lanes", 1...16, default: 2)
        _ = try settings.flag("satchel.dashboard", default: true)
        // Read twice, once without a display text for the default.
        _ = settings.text("satchel.host", default: "127.0.0.1")
        _ = settings["satchel.host"]
        let shown = settings.inForce.map { "\($0.name)=\($0.value)\($0.isDefault ? " (default)" : "")" }
        #expect(
            shown == [
                "SATCHEL_DASHBOARD=true (default)", "SATCHEL_HOST=127.0.0.1 (default)", "SATCHEL_LANES=2 (default)",
                "SATCHEL_PORT=8080",
            ])
    }

    @Test(arguments: [
        "satchel.master.key", "satchel.stripe.secret.key", "satchel.stripe.webhook.secret", "satchel.smtp.password",
        "satchel.rest.key", "satchel.mailgun.key", "satchel.facebook.app.secret", "satchel.some.token",
    ])
    func aSecretIsMaskedAndSaysNothingOfItsLength(_ key: String) throws {
        for secret in ["s3cr3t", "a much longer s3cr3t"] {
            let settings = Settings([Settings.variable(key): secret])
            _ = settings[key]
            let shown = try #require(settings.inForce.first)
            #expect(shown.isSecret)
            #expect(shown.value == EffectiveSetting.mask)
        }
        let unset = Settings([:])
        _ = unset.text(key, default: "s3cr3t")
        #expect(unset.inForce.first?.value == "")
    }

    @Test(arguments: [
        ("satchel.users.key.file", "/keys/users.key", "/keys/users.key"),
        ("satchel.password.days", "90", "90"),
        ("satchel.smtp.url", "smtps://me:s3cr3t@mail.example:465", "smtps://••••••@mail.example:465"),
        ("satchel.smtp.url", "smtps://me:s/3?c#r3t@mail.example:465", "smtps://••••••@mail.example:465"),
        (
            "satchel.push.url", "https://a.example/?x=1&api_key=s3cr3t&y=2,https://u:s3cr3t@b.example/",
            "https://a.example/?x=1&api_key=••••••&y=2,https://••••••@b.example/"
        ),
    ])
    func onlyWhatIsSecretOfTheOthersIsLeftOut(_ key: String, _ value: String, _ expected: String) {
        let settings = Settings([Settings.variable(key): value])
        _ = settings[key]
        #expect(settings.inForce.first?.value == expected)
        #expect(settings.inForce.first?.isSecret == false)
    }
}
