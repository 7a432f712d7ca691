import org.apache.kafka.common.protocol.Errors;

/** Prints, for each error code of the kafka-clients jar on the class path: code, name, and class of the exception. */
public class ErrorClasses {
    public static void main(String[] args) {
        for (Errors error : Errors.values()) {
            if (error != Errors.NONE) {
                System.out.println(error.code() + " " + error.name() + " " + error.exception().getClass().getName());
            }
        }
    }
}
