// Prints what Kafka's SimpleRate measures: [ms, recorded value, null] or [ms, null, rate per second].
// Recorded by: java -cp 'kafka-2.8.2/jars/*' Rates.java > simple-rate-2.8.2.json
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.common.metrics.stats.*;
import java.util.*;
import java.util.concurrent.TimeUnit;
public class Rates {
  public static void main(String[] a) {
    SimpleRate r = new SimpleRate();
    MetricConfig c = new MetricConfig().samples(11).timeWindow(1, TimeUnit.SECONDS);
    Random rnd = new Random(7);
    long now = 5000;
    StringBuilder b = new StringBuilder("[");
    for (int i = 0; i < 400; i++) {
      int k = rnd.nextInt(10);
      now += k < 5 ? rnd.nextInt(300) : k < 9 ? rnd.nextInt(1500) : rnd.nextInt(20000);
      long v = rnd.nextInt(3) == 0 ? -1 : rnd.nextInt(1000000);
      double m = 0;
      if (v >= 0) r.record(c, v, now); else m = r.measure(c, now);
      b.append(i == 0 ? "" : ",\n").append(v >= 0 ? "["+now+","+v+",null]" : "["+now+",null,"+m+"]");
    }
    System.out.println(b + "]");
  }
}
