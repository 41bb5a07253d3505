import ObjectStore
import ParseProtocol
import ServiceKit

/// The reports of reviews that customers think an admin should look at. A customer reports a review once; an admin's
/// decision about the review closes the reports there are, and only further customers can open the matter again.
package enum ReviewReports {
    package static func add(_ reviewId: String, by userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO reviewReports(reviewId, userId, reportedAt, isOpen) VALUES (?, ?, ?, 1) ON CONFLICT DO NOTHING
            """,
            [.text(reviewId), .text(userId), .int(transaction.now.milliseconds)])
    }

    /// Puts a hidden review whose author changed it before the admins again.
    static func submitAgain(_ reviewId: String, by author: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO reviewReports(reviewId, userId, reportedAt, isOpen) VALUES (?, ?, ?, 1)
            ON CONFLICT(reviewId, userId) DO UPDATE SET reportedAt = excluded.reportedAt, isOpen = 1
            """, [.text(reviewId), .text(author), .int(transaction.now.milliseconds)])
    }

    static func settle(_ reviewId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("UPDATE reviewReports SET isOpen = 0 WHERE reviewId = ?", [.text(reviewId)])
    }

    /// Removes the reports about a review that is gone.
    static func forget(review reviewId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM reviewReports WHERE reviewId = ?", [.text(reviewId)])
    }

    /// Removes the reports by a user who is gone.
    static func forget(user userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM reviewReports WHERE userId = ?", [.text(userId)])
    }

    /// The reviews with open reports, the one reported last first, each with `reports`, their number, and
    /// `lastReportedAt`.
    static func open(limit: Int64, in reader: some ObjectReading) throws -> JSON {
        let rows = try reader.rows(
            """
            SELECT reviewId, count(*), max(reportedAt) AS last FROM reviewReports
            WHERE \(reader.dialect.flag("isOpen"))
            GROUP BY reviewId ORDER BY last DESC, reviewId LIMIT ?
            """, [.int(limit)])
        let reviews = try reader.fetch("ProductReview", ids: try rows.map { try $0.text(0) }, keys: [], caller: .master)
        let documents = Dictionary(reviews.map { ($0.objectId, $0.document) }) { first, _ in first }
        return .array(
            try rows.compactMap { row in
                guard let document = try documents[row.text(0)] else { return nil }
                var review = try JSON(parsing: document).parseObject(of: "ProductReview")
                review["reports"] = try .int(row.int(1))
                review["lastReportedAt"] = try Timestamp(milliseconds: row.int(2)).wire
                return review
            })
    }
}
