/// Compares rows of several services that belong to one key. No I/O.
package struct CrossCheck: Sendable {
    /// The rows of one key, by list.
    package typealias Group = [BookList: BookRow]

    /// The kinds of findings, with what is true of every row and what to do about one of which it is not.
    package let kinds: [Kind]
    let lists: [BookList]
    /// The list whose rows are counted.
    let counted: BookList
    let find: @Sendable (_ key: String, _ group: Group, _ now: Int64) -> [BookFinding]

    package struct Kind: Sendable {
        package let name: String
        package let says: String
        package let remedy: String

        init(_ name: String, _ says: String, _ remedy: String) {
            (self.name, self.says, self.remedy) = (name, says, remedy)
        }
    }

    package static let all = [checkouts, sales, files, bucket]

    // MARK: Checkouts, charges, reservations and confirmations

    /// Catalog keeps decided reservations for 90 days.
    private static let reservationsKept = 89 * BookTables.day
    private static let running: Set<String> = ["started", "reserved", "charged"]

    static let checkouts = CrossCheck(
        kinds: [
            Kind(
                "order.charge", "A paid order has one charge of its total.",
                "Compare with the provider's page: charge the customer again, or refund what is too much."),
            Kind(
                "order.refund", "Bag and payments have the same refunds of an order.",
                "Compare with the provider's page, and set the order's refundedTotal with the master key."),
            Kind(
                "order.reservation", "A paid order has taken its goods out of stock.",
                "Count its products and set their stock."),
            Kind(
                "order.mail", "A paid order has its confirmation mail.",
                "Write to the customer. The quota of an address that is not verified may have dropped the mail."),
            Kind("charge.order", "A charge has an order, or was refunded.", "Refund the charge at the provider."),
            Kind(
                "reservation.order", "Goods are sold with an order only.",
                "Count the products of the reservation and set their stock."),
        ],
        lists: [.checkouts, .charges, .reservations, .confirmations], counted: .checkouts
    ) { id, group, now in
        let (present, charge) = (group[.checkouts], group[.charges])
        let reservation = group[.reservations]?.text("state")
        let charged = charge?.text("state") == "succeeded" ? charge : nil
        guard let checkout = present, checkout.text("state") == "made" else {
            let state = present?.text("state") ?? "no checkout"
            guard !running.contains(state), (present?.int("waits") ?? 0) == 0 else { return [] }
            var found: [BookFinding] = []
            if let charged, !id.hasPrefix("adopted:"), charged.int("pending") == 0,
                charged.int("refunded") < charged.int("amount")
            {
                let left = charged.int("amount") &- charged.int("refunded")
                found.append(BookFinding("charge.order", id, "\(left) \(charged.text("currency")), \(state)"))
            }
            if reservation == "committed" { found.append(BookFinding("reservation.order", id, state)) }
            return found
        }
        var found: [BookFinding] = []
        let order = "order \(checkout.int("number"))"
        let asked = [
            checkout.int("amount") > 0 ? "\(checkout.int("amount")) \(checkout.text("currency"))" : "nothing",
            checkout.text("charge"),
        ]
        let taken = [
            charged.map { "\($0.int("amount")) \($0.text("currency"))" } ?? "nothing", charged?.text("charge") ?? "",
        ]
        if asked != taken {
            let text = "\(order): \(asked.joined(separator: " ")), charged \(taken.joined(separator: " "))"
            found.append(BookFinding("order.charge", id, text))
        }
        if let charged, checkout.int("pending") == 0, charged.int("pending") == 0,
            checkout.int("refunded") != charged.int("refunded")
        {
            let text = "\(order): \(checkout.int("refunded")) in bag, \(charged.int("refunded")) in payments"
            found.append(BookFinding("order.refund", id, text))
        }
        if checkout.int("waits") == 0, reservation != "committed", checkout.int("at") > now - reservationsKept {
            found.append(BookFinding("order.reservation", id, "\(order): \(reservation ?? "no reservation")"))
        }
        if checkout.int("mailed") == 1, checkout.int("mailwaits") == 0, group[.confirmations] == nil {
            found.append(BookFinding("order.mail", id, order))
        }
        return found
    }

    // MARK: Orders and sales

    static let rebuild = "scripts/verify --rebuild sales writes them anew from the orders."

    static let sales = CrossCheck(
        kinds: [
            Kind(
                "order.once", "An order is paid by one checkout.",
                "The customer paid twice: refund the charge of the second checkout at the provider."),
            Kind("order.sale", "Analytics has the sale of each paid order.", rebuild),
            Kind("sale.amount", "A sale has the number, total and currency of its order.", rebuild),
            Kind("sale.refund", "Analytics has the refunds of each order.", rebuild),
            Kind("sale.order", "A sale has an order.", rebuild),
        ],
        lists: [.paidOrders, .sales], counted: .sales
    ) { id, group, _ in
        guard let order = group[.paidOrders] else {
            guard let sale = group[.sales] else { return [] }
            return [BookFinding("sale.order", id, "\(sale.int("amount")) \(sale.text("currency"))")]
        }
        let number = "order \(order.int("number"))"
        guard order.int("paid") == 1 else {
            return [BookFinding("order.once", id, "\(number): \(order.int("paid")) checkouts")]
        }
        guard order.int("waits") == 0 else { return [] }
        guard let sale = group[.sales] else { return [BookFinding("order.sale", id, number)] }
        var found: [BookFinding] = []
        func text(_ row: BookRow) -> String {
            "no. \(row.int("number")), \(row.int("amount")) \(row.text("currency"))"
        }
        if text(order) != text(sale) {
            found.append(BookFinding("sale.amount", id, "order \(text(order)); sale \(text(sale))"))
        }
        if order.int("refunded") != sale.int("refunded") {
            let text = "\(number): \(order.int("refunded")) in bag, \(sale.int("refunded")) in analytics"
            found.append(BookFinding("sale.refund", id, text))
        }
        return found
    }

    // MARK: Files

    static let files = CrossCheck(
        kinds: [
            Kind(
                "file.content", "Each file has its content on the disk.",
                "Copy it from a backup, or upload it again."),
            Kind("file.row", "Each file on the disk has its row.", "scripts/restart catalog removes it."),
        ],
        lists: [.fileRows, .filesOnDisk], counted: .fileRows
    ) { name, group, _ in
        if group[.filesOnDisk] == nil { return [BookFinding("file.content", name, "It is not on the disk.")] }
        if group[.fileRows] == nil { return [BookFinding("file.row", name, "It has no row.")] }
        return []
    }

    static let bucket = CrossCheck(
        kinds: [
            Kind(
                "object.content", "Each file in the bucket has its object.",
                "Take it from the bucket's versions, or upload it again."),
            Kind(
                "object.row", "Each object of a file in the bucket has its row.",
                "Delete it there, unless another shop uses the same place."),
        ],
        lists: [.bucketRows, .objectsInBucket], counted: .objectsInBucket
    ) { name, group, _ in
        guard let row = group[.bucketRows] else { return [BookFinding("object.row", name, "It has no row.")] }
        guard row.int("file") == 1, group[.objectsInBucket] == nil else { return [] }
        return [BookFinding("object.content", name, "It is not in the bucket.")]
    }
}
