import MessageBus
import Messages
import ObjectStore
import Outbound
import ProcessKit
import ServiceKit

package let mailPlan = ServicePlan(name: "mail", migrations: mailMigrations)

package func buildMail(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let configuration = try MailConfiguration(host.configuration.settings)
    let composer = MailComposer(
        sender: configuration.sender, shopName: configuration.shopName,
        templates: try MailTemplates(configuration.language, replacements: configuration.templatesFolder),
        zone: configuration.zone)
    var sending = configuration.sending
    sending.pollInterval = host.pollInterval(sending.pollInterval)
    let claimDuration = host.writers == .every ? configuration.claimDuration : nil
    let sender = MailSender(
        queue: MailQueue(store: host.store, claimDuration: claimDuration),
        composer: composer, transport: try transport(configuration, host), settings: sending,
        background: host.background, logger: host.logger)

    let quotas = MailQuotas(configuration.quotas)
    routes.accept(MailCalls.send) { message, request, transaction in
        let verdict = try MailQueue.add(
            message, key: request.envelope.idempotencyKey, quotas: quotas, in: transaction)
        transaction.afterCommit {
            if case .held(let reason) = verdict {
                host.logger.warning(
                    "A mail is held.", metadata: ["mail.template": "\(message.template)", "problem": "\(reason)"])
            }
            sender.wake()
        }
    }
    // Mails are stored by address, not by user; `forgetContent` removes their content.
    routes.accept(NotificationCalls(to: mailPlan.name).userDeleted) { _, _, _ in }
    let shopMails = ShopMailQueue(sender: configuration.sender, staff: configuration.staff, quotas: quotas)
    MailFunctions(
        store: host.store, sender: sender, composer: composer, shopMails: shopMails, audit: host.audit,
        claimDuration: claimDuration
    ).install(in: &routes)
    routes.park(ParkedMails.kind { sender.wake() })

    // If the clock is set back, stored due times lie too far ahead; the host limits them.
    host.limitStoredTimes(
        MailQueue.dueTimes(atMost: configuration.sending.longestWait, host.writers),
        StoredWaits("fullAt", of: "mailAllowances", atMost: MailQuotaBucket.day))
    host.whenWriting(sender.work)
    host.whenWriter("content", every: .seconds(3600), problem: "The content of old mails could not be removed.") {
        try await host.store.write(for: nil) {
            try MailQueue.forgetContent(in: $0)
            try MailQuotas.deleteFull(in: $0)
        }
        return .idle
    }
    host.report { reader in
        let count = try reader.rows("SELECT count(*) AS count FROM mails WHERE state = 'queued'").first?.int("count")
        return [Figure(.mailsQueued, Double(count ?? 0))]
    }
    host.whenStopping { await sender.stop(within: $0) }
}

private func transport(_ configuration: MailConfiguration, _ host: ServiceHost) throws -> any MailTransport {
    switch configuration.provider {
    case .spool:
        return try SpoolTransport(directory: host.configuration.dataDirectory + "/mail")
    case .smtp(let settings):
        if settings.login != nil, settings.encryption != .required, !settings.url.lowercased().hasPrefix("smtps:") {
            host.logger.warning(
                """
                The SMTP password may be sent unencrypted. Set SATCHEL_SMTP_TLS to `required`, or use an smtps:// URL.
                """
            )
        }
        return SMTPTransport(settings, client: try .loaded(authorities: configuration.authorities))
    case .mailgun(let settings):
        return MailgunTransport(settings, client: try .loaded(authorities: configuration.authorities))
    }
}
